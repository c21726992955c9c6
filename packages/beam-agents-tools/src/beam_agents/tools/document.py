"""A JSON text that is read once, for all who ask what it says and what its digest covers."""

from __future__ import annotations

from typing import NamedTuple

from pydantic_core import to_json

from beam_agents.tools.json_reader import JsonValue, read_json
from beam_agents.tools.json_writer import canonical_json


class Document(NamedTuple):
    """What a text says.

    Attributes:
        value: Its value.
        canonical: The value's canonical text.
    """

    value: JsonValue
    canonical: bytes

    @classmethod
    def read(cls, text: str | bytes) -> Document:
        """Read one JSON text; see `parse_json`.

        Raises:
            CanonicalJsonError: It cannot be written canonically.
        """
        data = text if isinstance(text, bytes) else text.encode()
        value, plain = read_json(data)
        # A fast writer keeps the order of keys, lays doubles out in its own way, and is
        # canonical in all else. What it gives back unchanged was canonical; most texts are.
        if (
            plain is not None
            and plain.keys_ascend
            and not plain.has_doubles
            and data.isascii()
            and to_json(value) == data
        ):
            return cls(value, data)
        return cls(value, canonical_json(value))
