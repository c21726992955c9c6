"""What an author may say of a tool besides its function, and the rules among it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

from typing_extensions import TypedDict

from beam_agents.tools.errors import ToolDefinitionError

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
    requires_approval: bool | Callable[..., object]


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
    requires_approval: bool | Callable[..., object] = False


def checked(given: ToolOptions, *, side_effect: bool) -> CheckedOptions:
    """Fill in defaults, and refuse what cannot be meant.

    Raises:
        ToolDefinitionError: Naming the option.
    """
    _require_known(given)
    if given.get("reconcile") is not None:
        given = {"on_crash": "reconcile", **given}
    options = CheckedOptions(**given)
    _require_name(given.get("name"))
    _require_positive("timeout_ms", options.timeout_ms)
    _require_positive("max_concurrency", options.max_concurrency)
    if options.on_crash not in get_args(OnCrash):
        raise ToolDefinitionError(
            f"on_crash={options.on_crash!r} is none of {', '.join(map(repr, get_args(OnCrash)))}"
        )
    if (options.reconcile is None) is (options.on_crash == "reconcile"):
        raise ToolDefinitionError(
            'on_crash="reconcile" and the function reconcile= belong together: '
            "give both, or the function alone"
        )
    _require_callable("reconcile", options.reconcile or None)
    _require_callable("requires_approval", options.requires_approval or None)
    _require_side_effect(given, side_effect)
    return options


def _require_known(given: ToolOptions) -> None:
    for option in given:
        if option not in ToolOptions.__annotations__:
            known = ", ".join(["side_effect", *ToolOptions.__annotations__])
            raise ToolDefinitionError(f"there is no option {option!r}; there are {known}")


def _require_name(name: str | None) -> None:
    # No white space, no commas: names stand in lists on command lines and in logs.
    if name is not None and (not name or not name.isprintable() or set(name) & set(" ,")):
        raise ToolDefinitionError(f"name={name!r} must be printable, without spaces and commas")


def _require_positive(option: str, value: object) -> None:
    if value is not None and (type(value) is not int or value <= 0):
        raise ToolDefinitionError(f"{option}={value!r} must be a positive integer")


def _require_callable(option: str, value: object) -> None:
    if value is not None and value is not True and not callable(value):
        raise ToolDefinitionError(f"{option}={value!r} must be a function")


def _require_side_effect(given: ToolOptions, side_effect: bool) -> None:
    for option in ("on_crash", "reconcile", "requires_approval"):
        if given.get(option) and not side_effect:
            raise ToolDefinitionError(
                f"{option}= is about an effect, which a tool without side effect has not: "
                "remove it, or say side_effect=True"
            )
