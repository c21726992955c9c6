"""Takes credentials out of a text that may hold URIs. In doubt it takes too much."""

from __future__ import annotations

import re

# A quote ends a URI that is quoted in a message or a line of JSON; one inside does not.
_INNER_QUOTE = r"""["'](?![,:;)}\]\s]|$)"""
_TOKEN = re.compile(rf"""(?:[^\s"']|{_INNER_QUOTE})+""")
# A password may hold spaces. What follows the colon could be a port, unless it is no number.
_PASSWORD_WITH_SPACES = re.compile(
    rf"""(?<=://)[^\s/?#@:]{{0,100}}:(?!\d+\b)(?:[^\n@"']|{_INNER_QUOTE}){{0,100}}@"""
)
_PASSWORD_WITHOUT_SCHEME = re.compile(r"""[^"':]+:[^"']*""")
_CREDENTIAL = "pass|pwd|secret|token|key|credential|sig|auth|jwt|bearer|cookie|session_?id"
_SECRET_PARAMETER = re.compile(
    rf"([?&;#][^=&;#\s]{{0,100}}(?:{_CREDENTIAL})[^=&;#\s]{{0,100}}=)"
    # So may its value, where another parameter follows.
    rf"""(?:[^&\n"']{{1,200}}(?=&[\w.-]+=)|(?:[^&\s"']|{_INNER_QUOTE})+)""",
    re.IGNORECASE,
)


def mask_uri(text: str) -> str:
    """Replace the credentials of every URI in a text, so that it may be printed."""
    if "@" in text:
        text = _TOKEN.sub(_masked, _PASSWORD_WITH_SPACES.sub("***@", text))
    return _SECRET_PARAMETER.sub(r"\1***", text)


def is_secret_parameter(name: str) -> bool:
    """Tell whether the parameter of a URI is named like a credential."""
    return re.search(_CREDENTIAL, name, re.IGNORECASE) is not None


def _masked(token: re.Match[str]) -> str:
    """Mask up to the last "@": a password may hold "/", "#", "?" and "@"."""
    before, slashes, after = token[0].partition("://")
    userinfo, at, rest = (after if slashes else before).rpartition("@")
    if slashes and at:
        return f"{before}://***@{rest}"
    return f"***@{rest}" if at and _PASSWORD_WITHOUT_SCHEME.fullmatch(userinfo) else token[0]
