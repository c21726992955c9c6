"""`compose/local` starts real servers once, says how they are, and ends only its own."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.helpers import create_ssl_context

from compose.local.places import services_folder
from compose.local.servers import kafka

LOCAL = Path(__file__).parents[2] / "compose" / "local"
KAFKA_PORT = kafka.PORT.number


@dataclass(frozen=True)
class Workshop:
    """A place of its own to start servers in."""

    folder: Path
    redis_port: int

    def do(
        self, action: str, *names: str, path: str = os.environ["PATH"]
    ) -> subprocess.CompletedProcess[str]:
        environment = {
            **os.environ,
            "PATH": path,
            "PYTHON": sys.executable,
            "BEAM_AGENTS_SERVICES": str(self.folder),
            "BEAM_AGENTS_REDIS_PORT": str(self.redis_port),
            "BEAM_AGENTS_KAFKA_PORT": str(self.redis_port + 1),
            "BEAM_AGENTS_BIGTABLE_PORT": str(self.redis_port + 6),
        }
        return subprocess.run(
            [str(LOCAL / action), *names],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )

    @property
    def redis_record(self) -> str:
        return (self.folder / "redis" / "pid.json").read_text()


@pytest.fixture
def workshop(tmp_path: Path) -> Iterator[Workshop]:
    workshop = Workshop(tmp_path / "services", next(filter(unused, range(17000, 17100, 10))))
    yield workshop
    workshop.do("down")


def unused(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0


def test_a_server_that_is_up_is_not_started_again(workshop: Workshop) -> None:
    assert workshop.do("up", "redis").stdout.startswith("redis: up on ")
    first = workshop.redis_record

    assert workshop.do("up", "redis").stdout.startswith("redis: already up on ")
    assert workshop.redis_record == first


def test_a_server_that_was_ended_keeps_its_data_and_comes_up_again(workshop: Workshop) -> None:
    workshop.do("up", "redis")
    with socket.create_connection(("127.0.0.1", workshop.redis_port)) as redis:
        redis.sendall(b"SET kept yes\r\n")
        assert redis.recv(64) == b"+OK\r\n"

    assert "redis: down, data in" in workshop.do("down").stdout
    assert "redis: down" in workshop.do("status", "redis").stdout

    workshop.do("up", "redis")
    with socket.create_connection(("127.0.0.1", workshop.redis_port)) as redis:
        redis.sendall(b"GET kept\r\n")
        assert redis.recv(64) == b"$3\r\nyes\r\n"


def test_a_strangers_port_is_refused_and_the_stranger_left_alone(workshop: Workshop) -> None:
    with socket.create_server(("127.0.0.1", workshop.redis_port)) as stranger:
        up = workshop.do("up", "redis")
        workshop.do("down", "redis")

        assert up.returncode == 1
        assert "set BEAM_AGENTS_REDIS_PORT to another port" in up.stderr
        assert stranger.fileno() != -1


def test_a_server_that_ends_at_once_shows_its_log(workshop: Workshop) -> None:
    data = workshop.folder / "redis" / "data" / "appendonlydir"
    data.mkdir(parents=True)
    (data / "appendonly.aof.manifest").write_text("not a manifest\n")

    up = workshop.do("up", "redis")

    assert up.returncode == 1
    assert "redis ended before it answered; the end of" in up.stderr
    assert "Invalid AOF manifest" in up.stderr


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("redis", "no redis-server on PATH; install Redis (package redis-server)"),
        ("kafka", "no java on PATH; install a Java runtime, 17 or later"),
        (
            "bigtable",
            "no gcloud on PATH; install the Google Cloud SDK, or set BEAM_AGENTS_CLOUD_SDK",
        ),
    ],
)
def test_a_missing_program_is_named_with_what_to_install(
    workshop: Workshop, tmp_path: Path, name: str, says: str
) -> None:
    for program in ("sh", "dirname"):
        (tmp_path / program).symlink_to(shutil.which(program) or program)

    up = workshop.do("up", name, path=str(tmp_path))

    assert up.returncode == 1
    assert up.stderr.strip() == says


def test_an_unknown_server_is_named_together_with_those_there_are(workshop: Workshop) -> None:
    up = workshop.do("up", "kafak")

    assert up.returncode == 1
    assert up.stderr.strip() == "no server 'kafak'; there are bigtable, kafka, prism, pubsub, redis"


@pytest.mark.skipif(
    os.environ.get("CI") != "true" and not (services_folder() / "kafka" / "tls").exists(),
    reason="Kafka was not started from packages; where CI=true this fails instead",
)
@pytest.mark.parametrize("tls", [False, True])
@pytest.mark.parametrize("mechanism", ["PLAIN", *kafka.SCRAM])
@pytest.mark.parametrize("user", kafka.USERS)
async def test_kafka_lets_its_users_in(user: str, mechanism: str, tls: bool) -> None:
    certificates = services_folder() / "kafka" / "tls"
    client = AIOKafkaAdminClient(
        bootstrap_servers=f"127.0.0.1:{KAFKA_PORT + (4 if tls else 2)}",
        security_protocol="SASL_SSL" if tls else "SASL_PLAINTEXT",
        ssl_context=create_ssl_context(cafile=str(certificates / "ca.crt")) if tls else None,
        sasl_mechanism=mechanism,
        sasl_plain_username=user,
        sasl_plain_password=kafka.USERS[user],
    )

    await client.start()
    await client.close()
