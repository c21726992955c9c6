"""Makes pydantic read what a schema says and nothing else: no conversions, no merging.

Pydantic describes a validator by a tree of nodes, its *core schema*. This copies such
a tree and makes each node exact: a node takes only what is published of it, alone or in a
union. What cannot be made exact, or is not known to be, is refused.

Beneath a validator of the author's, pydantic reads Python values in place of JSON, and
where it is strict it takes only instances then. So nodes that convert do it by themselves,
and containers need not be strict: JSON has one kind of array and one of object.
"""

from __future__ import annotations

from typing import Any

from pydantic_core import CoreSchema

from beam_agents.tools.core_nodes import Place
from beam_agents.tools.exact_containers import CONTAINERS
from beam_agents.tools.exact_scalars import SCALARS
from beam_agents.tools.exact_structure import STRUCTURE

_COPIES = SCALARS | CONTAINERS | STRUCTURE


def exact(schema: CoreSchema, *, strict: bool) -> CoreSchema:
    """Return an exact copy of a core schema.

    Args:
        schema: Of a `TypeAdapter` of the arguments.
        strict: False leaves the conversion of values to pydantic.

    Raises:
        InexactError: For the first node that cannot be exact.
    """
    root: Any = schema
    copied: Any = Place(_COPIES, strict).copy(root)
    return copied  # type: ignore[no-any-return]
