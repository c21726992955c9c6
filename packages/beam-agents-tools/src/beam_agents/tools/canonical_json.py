"""Canonical JSON: one sequence of bytes for each value, RFC 8785 with exact integers.

Wherever RFC 8785 (JCS) is defined the bytes are its own. It knows numbers only as
doubles; integers beyond 2^53 are written here in full, because an amount or an
identifier must arrive as it was sent. Encoding is a fixed point: `parse_json`
and `canonical_json` again give the same bytes.
"""

import sys
from types import ModuleType

from beam_agents.tools.errors import CanonicalJsonError
from beam_agents.tools.json_reader import JsonValue, parse_json
from beam_agents.tools.json_writer import Default, canonical_json
from beam_agents.tools.plainness import MAX_DEPTH

__all__ = ["MAX_DEPTH", "CanonicalJsonError", "JsonValue", "canonical_json", "parse_json"]


class _CallableModule(ModuleType):
    """Lets `from beam_agents.tools import canonical_json` mean the function as well.

    A package's attribute of this name is this module as soon as anybody has loaded it.
    """

    def __call__(self, value: object, *, default: Default | None = None) -> bytes:
        return canonical_json(value, default=default)


sys.modules[__name__].__class__ = _CallableModule
