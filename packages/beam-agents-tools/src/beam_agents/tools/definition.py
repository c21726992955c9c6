"""A tool: a function, the schema of its arguments, and how it may be run."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Mapping
from copy import deepcopy
from hashlib import sha256
from typing import Any, Generic

from typing_extensions import ParamSpec, TypeVar, Unpack

from beam_agents.tools.arguments import Arguments
from beam_agents.tools.callbacks import ApprovalRule, Reconciliation
from beam_agents.tools.canonical_json import canonical_json
from beam_agents.tools.docstring import Description
from beam_agents.tools.document import Document
from beam_agents.tools.errors import SideEffectToolError, ToolDefinitionError, ToolError
from beam_agents.tools.intent_info import IntentInfo
from beam_agents.tools.options import OnCrash, ToolOptions, checked
from beam_agents.tools.schema_nodes import without_explanations
from beam_agents.tools.signature import Signature, underlying

P = ParamSpec("P", default=...)
R_co = TypeVar("R_co", covariant=True, default=Any)


class Tool(Generic[P, R_co]):
    """A function that a model may ask for, by name, with arguments in JSON.

    Made by `@tool`. Without a side effect it is called like the function that
    it was; with one, a call raises: an agent stages it with `ctx.act`, and the
    effector performs it.

    Attributes:
        name: What models, intents and registries call it.
        description: What models read of it.
        side_effect: Whether it changes anything outside.
        strict: Whether arguments must be of their types, without conversion.
        schema_digest: SHA-256 of the schema's canonical JSON, without what only explains it:
            two sides of one digest accept the same arguments.
        timeout_ms: How long a run may take, or None for the effector's setting.
        max_concurrency: How many may run at once in one process, or None.
        on_crash: What to do where an earlier attempt may have run.
        reconcile: Asks whether an earlier attempt had its effect, or None.
        requires_approval: Whether a person must approve: a rule on the arguments, or a bool.
        place: The file and line of the definition.
    """

    def __init__(
        self,
        function: Callable[P, R_co],
        *,
        side_effect: bool = False,
        **options: Unpack[ToolOptions],
    ) -> None:
        self.place = _place(function)
        self.name = options.get("name") or _name(function)
        try:
            self._define(function, side_effect, options)
        except ToolDefinitionError as error:
            raise ToolDefinitionError(f"tool {self.name!r} ({self.place}): {error}") from error
        functools.update_wrapper(self, function, updated=())

    def _define(self, function: Callable[P, R_co], side_effect: bool, given: ToolOptions) -> None:
        options = checked(given, side_effect=side_effect)
        _require_function(function)
        signature = Signature.of(function)
        _require_no_intent(signature, side_effect)
        documented = Description.of(_docstring(function))
        self._function = function
        self._given = given
        self._intent_parameter = signature.intent_parameter
        self.takes_intent = signature.intent_parameter is not None
        self._arguments = Arguments(
            signature.arguments, documented.parameters, strict=options.strict
        )
        self.side_effect = side_effect
        self.description = options.description or documented.text
        self.strict = options.strict
        # Without explanations: `python -OO` leaves them out as well.
        accepted = without_explanations(self._arguments.schema)
        self.schema_digest = sha256(canonical_json(accepted)).digest()
        self.timeout_ms = options.timeout_ms
        self.max_concurrency = options.max_concurrency
        self.on_crash: OnCrash = options.on_crash
        names = self._arguments.names
        self.reconcile = Reconciliation.of(options.reconcile, names)
        self.requires_approval = ApprovalRule.of(options.requires_approval, names)

    @property
    def schema(self) -> dict[str, Any]:
        """JSON Schema 2020-12 of the arguments: a copy, which is the caller's."""
        return deepcopy(self._arguments.schema)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        """Call the function, if it has no side effect.

        Raises:
            SideEffectToolError: It has one.
        """
        if self.side_effect:
            raise SideEffectToolError(
                f"{self.name!r} has a side effect, so an agent must not call it: stage it with "
                f"`ctx.act({self.name!r}, …)`, and the effector performs it"
            )
        return self._function(*args, **kwargs)

    def parse_arguments(self, args_json: str | bytes | Document) -> dict[str, object]:
        """Validate arguments, from JSON to the instances that the function takes.

        Returns:
            A value for each parameter, by name; where the arguments leave one
            out, the function's own default.

        Raises:
            ToolArgumentsError: Listing every problem with its path.
        """
        return self._arguments.parse(self.name, args_json)

    def needs_approval(self, arguments: Mapping[str, object]) -> bool:
        """Tell whether a person must approve these validated arguments first."""
        if isinstance(self.requires_approval, bool):
            return self.requires_approval
        return self.requires_approval(arguments)

    def invoke(self, arguments: Mapping[str, object], intent: IntentInfo | None = None) -> object:
        """Run the function, side effect and all; for those who perform intents, and for tests.

        Args:
            arguments: As `parse_arguments` returned them.
            intent: Injected where the function asks for it.

        Returns:
            What the function returns: a value, or an awaitable of it.
        """
        function: Callable[..., object] = self._function
        if self._intent_parameter is None:
            return function(**arguments)
        if intent is None:
            raise ToolError(f"tool {self.name!r} takes the IntentInfo: pass it to invoke()")
        return function(**arguments, **{self._intent_parameter: intent})

    def manifest(self) -> dict[str, object]:
        """Describe the tool in JSON values, for comparison with another process's."""
        return {
            "schema_digest": self.schema_digest.hex(),
            "side_effect": self.side_effect,
            "strict": self.strict,
            "timeout_ms": self.timeout_ms,
            "max_concurrency": self.max_concurrency,
            "on_crash": self.on_crash,
            "requires_approval": (
                self.requires_approval if isinstance(self.requires_approval, bool) else "by rule"
            ),
        }

    def __repr__(self) -> str:
        return f"<Tool {self.name!r} of {self.place}>"

    def __reduce__(self) -> str | tuple[object, ...]:
        """Pickle by name where the name leads here, else by the function and its options."""
        module = sys.modules.get(self.__module__)
        name = getattr(self, "__qualname__", "")
        if self.__module__ != "__main__" and getattr(module, name, None) is self:
            return name
        return _rebuilt, (self._function, self.side_effect, self._given)


def _rebuilt(
    function: Callable[..., object], side_effect: bool, options: ToolOptions
) -> Tool[..., object]:
    return Tool(function, side_effect=side_effect, **options)


def _require_no_intent(signature: Signature, side_effect: bool) -> None:
    if signature.intent_parameter is not None and not side_effect:
        raise ToolDefinitionError(
            f"parameter {signature.intent_parameter!r} takes the IntentInfo, but a tool without "
            "side effect runs inside the pipeline, where there is no intent: "
            "remove it, or say side_effect=True"
        )


def _require_function(function: object) -> None:
    if isinstance(function, Tool):
        raise ToolDefinitionError("is a tool already")
    if inspect.isclass(function) or not callable(function):
        raise ToolDefinitionError(f"{function!r} is no function, method or callable object")
    plain = underlying(function)
    if inspect.isgeneratorfunction(plain) or inspect.isasyncgenfunction(plain):
        raise ToolDefinitionError("is a generator: a tool returns one value, so return a list")


def _name(function: object) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    return getattr(function, "__name__", type(function).__name__)


def _docstring(function: Callable[..., object]) -> str | None:
    # Of the function itself: a partial, or an object with __call__, would show its class's.
    return underlying(function).__doc__


def _place(function: object) -> str:
    code = getattr(underlying(function), "__code__", None) if callable(function) else None
    return f"{code.co_filename}:{code.co_firstlineno}" if code else "defined outside Python"
