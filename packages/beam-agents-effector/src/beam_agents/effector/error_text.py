"""What a result may tell of an exception: bounded, and without credentials."""

from __future__ import annotations

from beam_agents.intents.topics import mask_uri

_LONGEST = 2_000


def error_text(error: BaseException, *, type_only: bool) -> str:
    """Describe an exception by its type and, unless withheld, its text."""
    name = type(error).__qualname__
    if type_only:
        return bounded(name)
    try:
        text = str(error)
    except BaseException:
        text = "(its text cannot be read)"
    return bounded(f"{name}: {mask_uri(text)}" if text else name)


def bounded(text: str) -> str:
    """Cut a text to what a result may carry, and make it fit for the wire."""
    text = text.encode(errors="replace").decode()  # protobuf refuses lone surrogates
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} … of {len(text)} characters"
