"""Text that strangers wrote, made fit for a terminal: nothing in it can move a cursor or hide."""

from __future__ import annotations


def printable(text: str) -> str:
    r"""Write every character that does not print as its JSON escape, such as `\u202e`.

    Within JSON text the escapes mean what they stand for, so arguments stay exact.
    """
    return "".join(each if each.isprintable() else _escape(each) for each in text)


def printable_key(key: bytes) -> str:
    """Write a key: as text where it is one, else as `0x` and hexadecimal digits."""
    try:
        text = key.decode()
    except UnicodeDecodeError:
        return f"0x{key.hex()}"
    return text if text.isprintable() and text else f"0x{key.hex()}"


def _escape(character: str) -> str:
    units = character.encode("utf-16-be", errors="surrogatepass")
    return "".join(f"\\u{units[i : i + 2].hex()}" for i in range(0, len(units), 2))
