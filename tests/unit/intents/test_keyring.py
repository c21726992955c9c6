"""Keyrings: their text, their references, and that keys never show."""

from __future__ import annotations

import base64
import logging
import os
import pickle
import sys
from pathlib import Path
from typing import Any

import pytest

from beam_agents.intents.keyring import Keyring, KeyringError

SECRET = b"a secret that nobody may see"
ENCODED = base64.b64encode(SECRET).decode()
ED25519_RAW = base64.b64encode(bytes(range(32))).decode()


def test_a_keyring_holds_several_keys_comments_and_blank_lines() -> None:
    keyring = Keyring.parse(
        f"# rotated in May\n\n old = {ENCODED}  # until June\nnew={ENCODED}\n"
        f"ed=ed25519-private:{ED25519_RAW}\n"
    )

    assert len(keyring) == 3
    assert keyring.key("old") is not None
    assert keyring.key("ed") is not None
    assert keyring.key("other") is None


def test_an_ed25519_public_key_cannot_sign() -> None:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    raw = Ed25519PrivateKey.generate().public_key().public_bytes_raw()
    keyring = Keyring.parse(f"ed=ed25519-public:{base64.b64encode(raw).decode()}")

    key = keyring.key("ed")

    assert key is not None
    assert not key.can_sign


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the keyring has no key"),
        ("# nothing\n", "the keyring has no key"),
        (f"\n{ENCODED.rstrip('=')}", "line 2: is not of the form key_id=key"),
        (f"={ENCODED}", "line 1: is not of the form key_id=key"),
        (ENCODED, "line 1: the key is"),
        (f"k {ENCODED}", "line 1: its key id is not made of"),
        (f"k:{ENCODED}", "line 1: its key id is not made of"),
        (f"export k={ENCODED}", "line 1: its key id is not made of up to 128 ASCII letters"),
        (f"k j={ENCODED}", "line 1: its key id is not made of"),
        (f"clé={ENCODED}", "line 1: its key id is not made of"),
        (f"{'k' * 129}={ENCODED}", "line 1: its key id is not made of"),
        (f"{ENCODED}=k", "line 1: the key is"),
        (f"k=!{ENCODED}", "line 1: the key is not base64"),
        (f"k={ENCODED}x", "line 1: the key is not base64"),
        ("k=", "line 1: the key is empty"),
        (f"k={base64.b64encode(bytes(15)).decode()}", "the key is 15 bytes long: an HMAC key has"),
        (f"k={ENCODED}\nk={ENCODED}", "line 2: its key id is given twice"),
        (f"k=rsa:{ENCODED}", "line 1: the key is of no known form"),
        (f"k=ed25519-public:{ENCODED}", "line 1: the key is 28 bytes long"),
        (f"k=ed25519-private:{ENCODED}", "line 1: the key is 28 bytes long"),
    ],
)
def test_a_bad_line_is_named_without_its_key(text: str, message: str) -> None:
    with pytest.raises(KeyringError, match=message) as refused:
        Keyring.parse(text)

    assert ENCODED[:8] not in str(refused.value)


def test_an_ed25519_key_without_the_extra_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in [name for name in sys.modules if name.startswith("cryptography")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "cryptography", None)

    with pytest.raises(KeyringError, match=r"pip install beam-agents-tools\[ed25519\]"):
        Keyring.parse(f"ed=ed25519-private:{ED25519_RAW}")


def test_a_key_of_16_bytes_is_long_enough() -> None:
    assert len(Keyring.parse(f"k={base64.b64encode(bytes(16)).decode()}")) == 1


def test_a_byte_order_mark_is_no_part_of_a_key_id() -> None:
    assert Keyring.parse(f"\ufeffk={ENCODED}").key("k") is not None


# --- references ------------------------------------------------------------------------------


def test_a_keyring_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEYS", f"k={ENCODED}")

    assert Keyring.load("env:KEYS").key("k") is not None


def test_a_keyring_comes_from_a_function() -> None:
    assert Keyring.load(lambda: Keyring.parse(f"k={ENCODED}")).key("k") is not None


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("env:NO_SUCH_VARIABLE", "'env:NO_SUCH_VARIABLE': the environment has no variable"),
        ("file:/no/such/file", "'file:/no/such/file' cannot be read: No such file"),
        ("file:/", "cannot be read: Is a directory"),
        (f"k={ENCODED}", "given by reference"),
        ("", "given by reference"),
        (f"env:k={ENCODED}", "given by reference"),
        ("file:/a\0b", "cannot be read"),
        (None, "given by reference.* not by NoneType"),
        (SECRET, "given by reference.* not by bytes"),
    ],
)
def test_a_reference_that_leads_nowhere_is_refused(reference: Any, message: str) -> None:
    with pytest.raises(KeyringError, match=message) as refused:
        Keyring.load(reference)

    assert ENCODED not in str(refused.value)


def raising() -> Keyring:
    raise LookupError(f"no {ENCODED}")


def failing() -> Keyring:
    raise KeyringError("the vault is sealed")


def returning_text() -> Any:
    return f"k={ENCODED}"


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (raising, "the keyring's function raising raised LookupError"),
        (failing, "the vault is sealed"),
        (returning_text, "the keyring's function returning_text returned str, and no Keyring"),
        (lambda _: None, "raised TypeError"),
        (Keyring.parse, "the keyring's function Keyring.parse raised TypeError"),
    ],
)
def test_a_function_that_gives_no_keyring_is_named_without_what_it_says(
    function: Any, message: str
) -> None:
    with pytest.raises(KeyringError, match=message) as refused:
        Keyring.load(function)

    assert refused.value.__suppress_context__ or refused.value.__context__ is None
    assert ENCODED not in str(refused.value)


def test_a_keyring_is_parsed_from_text() -> None:
    text: Any = f"k={ENCODED}".encode()

    with pytest.raises(KeyringError, match="a keyring is text, not bytes"):
        Keyring.parse(text)


def write(path: Path, text: str, *, at_s: int) -> None:
    path.write_text(text)
    os.utime(path, (at_s, at_s))  # file systems stamp coarsely


def test_a_file_is_read_again_when_it_changes(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    write(path, f"old={ENCODED}", at_s=1)
    keyring = Keyring.load(f"file:{path}")

    write(path, f"new={ENCODED}", at_s=2)

    assert keyring.key("new") is not None
    assert keyring.key("old") is None


@pytest.mark.parametrize("text", ["", "half a line", None])
def test_a_file_that_becomes_unreadable_leaves_the_keys_as_they_were(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, text: str | None
) -> None:
    path = tmp_path / "keys"
    write(path, f"k={ENCODED}", at_s=1)
    keyring = Keyring.load(f"file:{path}")

    if text is None:
        path.unlink()
    else:
        write(path, text, at_s=2)
    with caplog.at_level(logging.WARNING):
        keys = [keyring.key("k"), keyring.key("k")]

    assert None not in keys
    assert caplog.text.count("the keys stay as they were") == 1
    assert ENCODED not in caplog.text


# --- secrecy ---------------------------------------------------------------------------------


def test_a_keyring_and_its_keys_print_without_material() -> None:
    keyring = Keyring.parse(f"k={ENCODED}")

    printed = f"{keyring!r} {keyring.key('k')!r}"

    assert ENCODED not in printed
    assert repr(SECRET) not in printed


def test_a_keyring_is_pickled_by_its_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEYS", f"k={ENCODED}")
    pickled = pickle.dumps(Keyring.load("env:KEYS"))
    monkeypatch.setenv("KEYS", f"other={ENCODED}")

    assert SECRET not in pickled
    assert pickle.loads(pickled).key("other") is not None  # noqa: S301


def test_a_keyring_made_from_text_refuses_to_be_pickled() -> None:
    with pytest.raises(KeyringError, match="cannot be pickled"):
        pickle.dumps(Keyring.parse(f"k={ENCODED}"))
