"""The query of a `redis://` URI; read without the client library."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import parse_qsl, urlsplit


@dataclass(frozen=True, slots=True)
class RedisParameters:
    """What a Redis URI says beyond where the server is.

    Attributes:
        cluster: The host is any node of a Redis Cluster.
        wait_replicas: A call counts as answered only once so many replicas have what it
            wrote. Without it a failover may lose what was acknowledged.
    """

    cluster: bool = False
    wait_replicas: int = 0

    @classmethod
    def of(cls, uri: str) -> RedisParameters:
        """Read them.

        Raises:
            ValueError: Naming the parameter that is unknown, or not what it must be.
        """
        given = dict(parse_qsl(urlsplit(uri).query, keep_blank_values=True))
        cluster = given.pop("cluster", "false")
        wait_replicas = given.pop("wait_replicas", "0")
        if given:
            raise ValueError(f"unknown parameter {min(given)!r}: there are cluster, wait_replicas")
        if cluster not in ("true", "false"):
            raise ValueError(f"cluster must be true or false, not {cluster!r}")
        if not (wait_replicas.isascii() and wait_replicas.isdecimal()):
            raise ValueError(f"wait_replicas must be a whole number, not {wait_replicas!r}")
        return cls(cluster == "true", int(wait_replicas))
