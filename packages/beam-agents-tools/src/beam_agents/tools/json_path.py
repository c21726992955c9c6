"""Writes the place of a value inside a JSON document."""

from __future__ import annotations

from collections.abc import Iterable

# Documents are other people's: neither their depth nor their keys fill an error message.
_SHOWN_AT_EACH_END = 12
_MAX_KEY = 64


def json_path(segments: Iterable[str | int]) -> str:
    """Format keys and indexes from the root on, as in `$.items[2]["unit price"]`.

    What is in the middle of a very long path, or at the end of a very long key, is left out.
    """
    shown = list(map(_segment, segments))
    if len(shown) > 2 * _SHOWN_AT_EACH_END:
        shown[_SHOWN_AT_EACH_END:-_SHOWN_AT_EACH_END] = ["..."]
    return "$" + "".join(shown)


def _segment(segment: str | int) -> str:
    if isinstance(segment, int):
        return f"[{segment}]"
    if len(segment) > _MAX_KEY:
        segment = f"{segment[:_MAX_KEY]}..."
    # `ascii` keeps lone surrogates and line breaks from reaching a log or a message.
    return f".{segment}" if segment.isidentifier() else f"[{segment!a}]"
