"""Writes the place of a value inside a JSON document."""

from __future__ import annotations

from collections.abc import Iterable


def json_path(segments: Iterable[str | int]) -> str:
    """Format keys and indexes from the root on, as in `$.items[2]["unit price"]`."""
    return "$" + "".join(map(_segment, segments))


def _segment(segment: str | int) -> str:
    if isinstance(segment, int):
        return f"[{segment}]"
    # `ascii` keeps lone surrogates and line breaks from reaching a log or a message.
    return f".{segment}" if segment.isidentifier() else f"[{segment!a}]"
