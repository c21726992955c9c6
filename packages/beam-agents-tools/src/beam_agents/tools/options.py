"""What an author may say of a tool besides its function, and the rules among it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

from typing_extensions import TypedDict

from beam_agents.tools.errors import ToolDefinitionError

# A function of some of the arguments, or of all in one mapping. From `Callable[..., object]`
# pyright would infer nothing of a lambda's parameters.
Rule: TypeAlias = (
    Callable[[], object]
    | Callable[[Any], object]
    | Callable[[Any, Any], object]
    | Callable[[Any, Any, Any], object]
    | Callable[[Any, Any, Any, Any], object]
)
OnCrash = Literal["reexecute", "reconcile", "fail"]


class ToolOptions(TypedDict, total=False):
    """The keyword arguments of `@tool`, `side_effect` aside.

    Attributes:
        name: Instead of the function's own.
        description: Instead of the docstring's.
        strict: `False` lets arguments be converted to their types, "5" to 5.
        timeout_ms: Instead of the effector's `--tool-timeout-ms`.
        max_concurrency: How many may run at once in one process.
        on_crash: What to do when a claim is taken over from a worker that died
            after it invoked the tool: run it again (`"reexecute"`, the default), ask
            `reconcile` first (`"reconcile"`), or answer `ERROR` (`"fail"`).
        reconcile: Asks whether the effect happened: returns `Applied`,
            `NotApplied` or `Unknown`. Implies its policy.
        requires_approval: Whether a person must approve: a bool, or a function
            of the validated arguments.
    """

    name: str
    description: str
    strict: bool
    timeout_ms: int | None
    max_concurrency: int | None
    on_crash: OnCrash
    reconcile: Callable[..., object] | None
    requires_approval: bool | Rule


@dataclass(frozen=True, slots=True)
class CheckedOptions:
    """Options that agree with each other, defaults filled in."""

    name: str = ""
    description: str = ""
    strict: bool = True
    timeout_ms: int | None = None
    max_concurrency: int | None = None
    on_crash: OnCrash = "reexecute"
    reconcile: Callable[..., object] | None = None
    requires_approval: bool | Rule = False


def checked(given: ToolOptions, *, side_effect: bool) -> CheckedOptions:
    """Fill in defaults, and refuse what cannot be meant.

    Raises:
        ToolDefinitionError: Naming the option.
    """
    _require_known(given)
    for option, value in ("side_effect", side_effect), *given.items():
        _require_meant(option, value)
    if given.get("reconcile") is not None:
        given = {"on_crash": "reconcile", **given}
    options = CheckedOptions(**given)
    if (options.reconcile is None) is (options.on_crash == "reconcile"):
        raise ToolDefinitionError(
            'on_crash="reconcile" and the function reconcile= belong together: '
            "give both, or the function alone"
        )
    _require_side_effect(given, side_effect)
    return options


def _require_known(given: ToolOptions) -> None:
    for option in given:
        if option not in ToolOptions.__annotations__:
            known = ", ".join(["side_effect", *ToolOptions.__annotations__])
            raise ToolDefinitionError(f"there is no option {option!r}; there are {known}")


def _require_meant(option: str, value: object) -> None:
    is_meant, meant = _MEANT[option]
    if not is_meant(value):
        raise ToolDefinitionError(
            f"{option}={value!r} must be {meant}, not this {type(value).__name__}"
        )


def _is_name(value: object) -> bool:
    # No white space, no commas: names stand in lists on command lines and in logs.
    return (
        isinstance(value, str)
        and value.isprintable()
        and bool(value)
        and not set(value) & set(" ,")
    )


def _is_limit(value: object) -> bool:
    return value is None or (type(value) is int and value > 0)


_POLICIES = get_args(OnCrash)
_A_BOOL = (lambda value: isinstance(value, bool), "True or False")
_A_LIMIT = (_is_limit, "a positive integer, or None")
_MEANT: Mapping[str, tuple[Callable[[object], bool], str]] = {
    "name": (_is_name, "a string, printable, without spaces and commas"),
    "description": (lambda value: isinstance(value, str), "a string"),
    "side_effect": _A_BOOL,
    "strict": _A_BOOL,
    "timeout_ms": _A_LIMIT,
    "max_concurrency": _A_LIMIT,
    "on_crash": (
        lambda value: value in _POLICIES,
        f"one of {', '.join(map(repr, _POLICIES))}",
    ),
    "reconcile": (lambda value: value is None or callable(value), "a function, or None"),
    "requires_approval": (
        lambda value: isinstance(value, bool) or callable(value),
        "True, False, or a function of the arguments",
    ),
}


def _require_side_effect(given: ToolOptions, side_effect: bool) -> None:
    for option in ("on_crash", "reconcile", "requires_approval"):
        if given.get(option) and not side_effect:
            raise ToolDefinitionError(
                f"{option}= is about an effect, which a tool without side effect has not: "
                "remove it, or say side_effect=True"
            )
