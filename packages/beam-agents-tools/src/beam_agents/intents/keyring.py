"""Keys by id, read from where a reference points, never given by value."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeAlias

from beam_agents.intents.keys import Key, KeyFormatError, parse_key

_LOG = logging.getLogger(__name__)

_BY_REFERENCE = "a keyring is given by reference: env:VARIABLE or file:/path"
_BYTE_ORDER_MARK = "\ufeff"
_KEY_ID = re.compile(r"[A-Za-z0-9._-]{1,128}")
_ALPHABET = "up to 128 ASCII letters, digits, '.', '_' and '-'"

KeyringReference: TypeAlias = "str | Callable[[], Keyring]"


class KeyringError(ValueError):
    """A keyring cannot be read or does not serve; never holds key material."""


class Keyring:
    """Valid keys by id: several while keys are rotated.

    Its text has a line for each key, and `#` comments. A key id is made of up to 128
    ASCII letters, digits, `.`, `_` and `-`:

        key_id=base64(secret)                 HMAC-SHA256
        key_id=ed25519-public:base64(raw)     verifies
        key_id=ed25519-private:base64(raw)    signs and verifies

    A keyring from a file is read again whenever the file changes. Should it not
    be readable then, the keys stay as they were and a warning is logged. A
    keyring is pickled by its reference, so that keys do not travel.
    """

    def __init__(
        self, keys: Mapping[str, Key], *, reference: KeyringReference | None = None
    ) -> None:
        self._keys = dict(keys)
        self._reference = reference
        self._stamp = self._file_stamp()

    @classmethod
    def load(cls, reference: KeyringReference) -> Keyring:
        """Read the keys that a reference points to.

        Args:
            reference: `env:VARIABLE`, `file:/path`, or a function that returns a keyring.

        Raises:
            KeyringError: There is nothing to read, or it is no keyring.
        """
        if callable(reference):
            return cls(_returned(reference)._keys, reference=reference)
        if not isinstance(reference, str):
            raise KeyringError(f"{_BY_REFERENCE}, not by {type(reference).__name__}")
        return cls(_parsed(_text(reference), repr(reference)), reference=reference)

    @classmethod
    def parse(cls, text: str) -> Keyring:
        """Read keys from text, for tests; such a keyring cannot be pickled.

        Raises:
            KeyringError: Naming the line, and not what is on it.
        """
        if not isinstance(text, str):
            raise KeyringError(f"a keyring is text, not {type(text).__name__}")
        return cls(_parsed(text, "the keyring"))

    def key(self, key_id: str) -> Key | None:
        """Return the key of this id as it is now, if there is one."""
        self._refresh()
        return self._keys.get(key_id)

    def signing_key(self, key_id: str) -> Key:
        """Return a key that can sign.

        Raises:
            KeyringError: There is none of this id, or it is a public key.
        """
        key = self.key(key_id)
        if key is None:
            raise KeyringError(f"{self} has no key {key_id!r}; it has {sorted(self._keys)}")
        if not key.can_sign:
            raise KeyringError(f"key {key_id!r} of {self} is public, so it can only verify")
        return key

    def _refresh(self) -> None:
        stamp = self._file_stamp()
        if stamp == self._stamp:
            return
        self._stamp = stamp
        try:
            self._keys = dict(Keyring.load(self._reference or "")._keys)
        except KeyringError as error:
            _LOG.warning("%s; the keys stay as they were", error)

    def _file_stamp(self) -> tuple[int, int, int] | None:
        if not isinstance(self._reference, str) or not self._reference.startswith("file:"):
            return None
        try:
            found = os.stat(self._reference.removeprefix("file:"))
        except (OSError, ValueError):
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino

    def __len__(self) -> int:
        return len(self._keys)

    def __repr__(self) -> str:
        reference = "" if self._reference is None else f" {self._reference!r}"
        return f"<Keyring{reference}>"

    def __reduce__(self) -> tuple[object, ...]:
        if self._reference is None:
            raise KeyringError(
                "a keyring made from text cannot be pickled: its keys would travel. "
                "Load it from a reference, such as env:VARIABLE or file:/path"
            )
        return Keyring.load, (self._reference,)


def _returned(function: Callable[[], object]) -> Keyring:
    name = getattr(function, "__qualname__", type(function).__qualname__)
    try:
        keyring = function()
    except KeyringError:
        raise
    except Exception as error:  # its text may repeat key material
        raise KeyringError(f"the keyring's function {name} raised {type(error).__name__}") from None
    if not isinstance(keyring, Keyring):
        raise KeyringError(
            f"the keyring's function {name} returned {type(keyring).__name__}, and no Keyring"
        )
    return keyring


def _text(reference: str) -> str:
    kind, _, place = reference.partition(":")
    if kind == "env" and place.isidentifier():
        text = os.environ.get(place)
        if text is None:
            raise KeyringError(f"{reference!r}: the environment has no variable {place!r}")
        return text
    if kind == "file":
        try:
            return Path(place).read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else "is not text"
            raise KeyringError(f"{reference!r} cannot be read: {reason}") from None
    # Not repeated: it could be a key, given where a reference belongs.
    raise KeyringError(_BY_REFERENCE)


def _parsed(text: str, source: str) -> dict[str, Key]:
    keys: dict[str, Key] = {}
    for number, line in enumerate(text.removeprefix(_BYTE_ORDER_MARK).splitlines(), start=1):
        content = line.partition("#")[0].strip()
        if not content:
            continue
        key_id, equals, encoded = (part.strip() for part in content.partition("="))
        if not (key_id and equals):
            raise KeyringError(f"{source}, line {number}: is not of the form key_id=key")
        if not _KEY_ID.fullmatch(key_id):
            raise KeyringError(f"{source}, line {number}: its key id is not made of {_ALPHABET}")
        if key_id in keys:
            raise KeyringError(f"{source}, line {number}: its key id is given twice")
        # The line is named, and never its id: base64 ends in "=", so where the id or
        # the "=" was forgotten, what stands for an id here is the key itself.
        keys[key_id] = _key(encoded, f"{source}, line {number}: the key")
    if not keys:
        raise KeyringError(f"{source} has no key")
    return keys


def _key(encoded: str, place: str) -> Key:
    try:
        return parse_key(encoded)
    except KeyFormatError as error:
        raise KeyringError(f"{place} {error}") from None
    except ModuleNotFoundError:
        raise KeyringError(
            f"{place} is an Ed25519 key: install the extra, pip install beam-agents-tools[ed25519]"
        ) from None
