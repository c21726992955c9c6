"""A JSON text that is read once, for all who ask what it says and what its digest covers."""

from __future__ import annotations

from typing import NamedTuple

from jiter import from_json
from pydantic_core import to_json

from beam_agents.tools.json_reader import JsonValue, read_json
from beam_agents.tools.json_writer import canonical_json
from beam_agents.tools.plainness import glance


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
        document = cls._if_canonical(text)
        if document is None:
            value, _ = read_json(text)
            document = cls(value, canonical_json(value))
        return document

    @classmethod
    def _if_canonical(cls, text: str | bytes) -> Document | None:
        """Read a text that is canonical already, as most are; None where that is not certain.

        A fast writer keeps the order of keys, lays doubles out in its own way, and is
        canonical in all else. What it gives back unchanged was canonical, and has no key twice.
        """
        try:
            data = text if isinstance(text, bytes) else text.encode()
            value: JsonValue = from_json(data, allow_inf_nan=False)
        except ValueError:
            return None
        plain = glance(value)
        if plain is None or plain.has_doubles or not plain.keys_ascend or not data.isascii():
            return None
        return cls(value, data) if to_json(value) == data else None
