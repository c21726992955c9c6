"""The functions that an author may give beside a tool: what to ask after a crash, and approval."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping

from beam_agents.tools.errors import ToolDefinitionError
from beam_agents.tools.intent_info import IntentInfo
from beam_agents.tools.signature import REQUIRED, is_intent_parameter, underlying

_Parameter = inspect.Parameter


class Reconciliation:
    """Asks whether an earlier attempt had its effect; see `on_crash="reconcile"`.

    Calls a function, async or not, with the `IntentInfo` and those of the tool's
    arguments that it declares by name.
    """

    def __init__(self, function: Callable[..., object], arguments: Collection[str]) -> None:
        self._function = function
        declared = inspect.signature(function).parameters.values()
        self._takes_all = any(each.kind is _Parameter.VAR_KEYWORD for each in declared)
        self._names = [each.name for each in declared if each.name in arguments]
        others = [
            each
            for each in declared
            if each.name not in arguments and each.kind is not _Parameter.VAR_KEYWORD
        ]
        for other in others:
            if not _takes_intent(other, function):
                raise ToolDefinitionError(
                    f"reconcile has a parameter {other.name!r}: it can take the IntentInfo and, "
                    f"by name, the tool's arguments {list(arguments)}"
                )
        self._intent_names = [each.name for each in others]

    @classmethod
    def of(
        cls, function: Callable[..., object] | None, arguments: Collection[str]
    ) -> Reconciliation | None:
        """Bind a function to a tool's arguments, if there is one."""
        return None if function is None else cls(function, arguments)

    def __call__(self, arguments: Mapping[str, object], intent: IntentInfo) -> object:
        """Ask.

        Returns:
            `Applied`, `NotApplied` or `Unknown`, or an awaitable of one.
        """
        values = dict(arguments) if self._takes_all else {n: arguments[n] for n in self._names}
        return self._function(**values, **dict.fromkeys(self._intent_names, intent))


class ApprovalRule:
    """Tells whether these arguments need a person's approval; in doubt they do.

    Calls a function with those of the tool's arguments that it declares by name,
    or, if its only parameter is none of them, with all of them in a mapping.
    """

    def __init__(self, function: Callable[..., object], arguments: Collection[str]) -> None:
        if inspect.iscoroutinefunction(underlying(function)):
            raise ToolDefinitionError("requires_approval is async: it must answer at once")
        self._function = function
        names = list(inspect.signature(function).parameters)
        self._names = [name for name in names if name in arguments]
        self._takes_mapping = len(names) == 1 and not self._names
        if len(self._names) < len(names) and not self._takes_mapping:
            strangers = [name for name in names if name not in arguments]
            raise ToolDefinitionError(
                f"requires_approval takes {strangers}, which are no arguments of the tool: "
                f"it can take some of {list(arguments)}, or all in one mapping"
            )

    @classmethod
    def of(
        cls, rule: bool | Callable[..., object], arguments: Collection[str]
    ) -> bool | ApprovalRule:
        """Bind a function to a tool's arguments; a bool stays what it is."""
        return cls(rule, arguments) if callable(rule) else rule

    def __call__(self, arguments: Mapping[str, object]) -> bool:
        """Judge validated arguments; only an explicit `False` lets them through."""
        try:
            if self._takes_mapping:
                return self._function(arguments) is not False
            return self._function(**{name: arguments[name] for name in self._names}) is not False
        except Exception:
            return True  # a rule that cannot judge waves nothing through


def _takes_intent(parameter: _Parameter, function: Callable[..., object]) -> bool:
    if parameter.kind in (_Parameter.POSITIONAL_ONLY, _Parameter.VAR_POSITIONAL):
        return False
    return parameter.annotation is REQUIRED or is_intent_parameter(parameter, function)
