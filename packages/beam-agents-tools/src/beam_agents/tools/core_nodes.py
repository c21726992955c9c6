"""A place in pydantic's core schema: where it is, and how what is there is copied."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

Node: TypeAlias = dict[str, Any]


class InexactError(Exception):
    """A node cannot be made exact.

    Attributes:
        path: Where, as in `order.lines[].price`.
        reason: Why, and what to write instead.
    """

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, reason)
        self.path = path
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Place:
    """Where a node is.

    Attributes:
        copies: By the type of a node, what copies it.
        strict: Whether values are converted by nobody but us.
        path: From a parameter on.
        config: Pydantic's, of the innermost model.
        definitions: Nodes that others refer to.
        copied: Their copies, as far as they have been met.
    """

    copies: Mapping[str, Copy]
    strict: bool
    path: str = ""
    config: Node = field(default_factory=dict)
    definitions: Node = field(default_factory=dict)
    copied: Node = field(default_factory=dict)

    def copy(self, node: Node) -> Node:
        """Return an exact copy of a node that is here.

        Raises:
            InexactError: There is none.
        """
        copied = self.copies.get(node["type"], _refuse)(node, self)
        return {**copied, "ref": node["ref"]} if "ref" in node else copied

    def member(self, name: str) -> Place:
        """Return the place of a member of the object here."""
        return replace(self, path=f"{self.path}.{name}" if self.path else name)

    def item(self, index: int | None = None) -> Place:
        """Return the place of one item, or all, of the array or mapping here."""
        return replace(self, path=f"{self.path}[{'' if index is None else index}]")

    @property
    def is_parameter(self) -> bool:
        """Whether a parameter itself is here, and nothing inside of it."""
        return self.path.isidentifier()

    def within(self, config: Node | None) -> Place:
        """Return this place with the configuration of a model that is here."""
        return self if config is None else replace(self, config=config)

    def resolved(self, node: Node) -> Node:
        """Follow a reference."""
        while node["type"] == "definition-ref":
            node = self.definitions[node["schema_ref"]]
        return node

    def refuse(self, reason: str) -> InexactError:
        """Return what to raise of the node here."""
        return InexactError(self.path, reason)


Copy: TypeAlias = Callable[[Node, Place], Node]
_REASONS = {
    "call": "a NamedTuple can be an array or an object before pydantic 2.14: use a dataclass",
    "callable": "a Callable cannot be sent as JSON",
    "complex": "a complex number has many spellings: use two floats",
    "fraction": "a Fraction has many spellings: use Decimal, or two integers",
    "generator": "an Iterable is validated lazily: use list or Sequence",
    "is-instance": "JSON holds no instances of this class: use a dataclass or a model",
    "is-subclass": "a class cannot be sent as JSON: use a Literal or an Enum of names",
    "json": "Json hides a text that is not read strictly: use the type itself, or str",
    "missing-sentinel": "MISSING cannot be sent as JSON: give the parameter a default",
}
_UNKNOWN = "pydantic's {!r} is not known to be read exactly: use a dataclass or a model"


def _refuse(node: Node, place: Place) -> Node:
    kind = node["type"]
    raise place.refuse(_REASONS.get(kind) or _UNKNOWN.format(kind))
