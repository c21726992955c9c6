"""Reads a callable's signature: which parameters a model fills, and which one is injected."""

from __future__ import annotations

import inspect
import sys
import types
import typing
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial, singledispatchmethod
from typing import Annotated, Any

from pydantic.fields import FieldInfo
from typing_extensions import TypeAliasType

from beam_agents.tools.errors import ToolDefinitionError
from beam_agents.tools.intent_info import IntentInfo

REQUIRED = inspect.Parameter.empty

# From Python 3.12 on, the `type` statement makes another class than typing_extensions.
_ALIASES = (TypeAliasType, getattr(typing, "TypeAliasType", TypeAliasType))


@dataclass(frozen=True, slots=True)
class Argument:
    """A parameter that the arguments fill.

    Attributes:
        name: The parameter's name, and the key in the arguments.
        annotation: The resolved type.
        default: The function's own default, or `REQUIRED`.
    """

    name: str
    annotation: Any
    default: object = REQUIRED


@dataclass(frozen=True, slots=True)
class Signature:
    """What a callable takes.

    Attributes:
        arguments: In the order of the definition.
        intent_parameter: The name of the parameter that takes the `IntentInfo`, if any.
    """

    arguments: tuple[Argument, ...]
    intent_parameter: str | None

    @classmethod
    def of(cls, function: Callable[..., object]) -> Signature:
        """Read a function, a bound method, a callable object or a partial of one.

        Raises:
            ToolDefinitionError: Naming the parameter that arguments by name cannot fill.
        """
        _refuse_dispatch(function)
        source = underlying(function)
        arguments: list[Argument] = []
        injected: list[str] = []
        for parameter in _parameters(function):
            annotation = _resolved(parameter, source)
            if _without_wrapping(annotation) is IntentInfo:
                _require_keyword_only(parameter)
                injected.append(parameter.name)
            else:
                _refuse_field_default(parameter)
                arguments.append(Argument(parameter.name, annotation, parameter.default))
        if len(injected) > 1:
            raise ToolDefinitionError(f"takes the IntentInfo twice, as {injected}: keep one")
        return cls(tuple(arguments), injected[0] if injected else None)


def is_intent_parameter(parameter: inspect.Parameter, function: Callable[..., object]) -> bool:
    """Tell whether a parameter's annotation asks for the `IntentInfo`."""
    return _without_wrapping(_resolved(parameter, underlying(function))) is IntentInfo


def underlying(function: Callable[..., object]) -> Callable[..., object]:
    """Return the plain function behind partials, decorators, methods and callable objects."""
    return deque(_layers(function), maxlen=1).pop()


def _layers(function: Callable[..., object]) -> Iterator[Callable[..., object]]:
    """Yield a callable and what it calls, down to a plain function."""
    while True:
        yield function
        if isinstance(function, partial):
            function = function.func
        elif hasattr(function, "__wrapped__"):
            function = function.__wrapped__
        elif inspect.ismethod(function):
            function = function.__func__
        elif inspect.isroutine(function):
            return
        else:
            function = type(function).__call__


def _refuse_dispatch(function: Callable[..., object]) -> None:
    if any(map(_dispatches, _layers(function))):
        raise ToolDefinitionError(
            "dispatches on its first positional argument, and arguments come by name: "
            "make a tool of each implementation, or take a Union"
        )


def _dispatches(function: Callable[..., object]) -> bool:
    """Tell whether this is made by `functools.singledispatch` or `singledispatchmethod`."""
    owner = getattr(getattr(function, "register", None), "__self__", None)
    is_method = isinstance(owner, singledispatchmethod)
    return is_method or (hasattr(function, "dispatch") and hasattr(function, "registry"))


def _parameters(function: Callable[..., object]) -> list[inspect.Parameter]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError as error:
        raise ToolDefinitionError(f"has no signature to read: {error}") from None
    fixed = _fixed_by_partial(function)
    for parameter in parameters:
        if parameter.name not in fixed:
            _require_expressible(parameter)
    return [parameter for parameter in parameters if parameter.name not in fixed]


def _fixed_by_partial(function: object) -> Mapping[str, object]:
    # What the author has fixed is theirs: a model must neither see nor replace it.
    return function.keywords if isinstance(function, partial) else {}


_UNNAMED = {
    inspect.Parameter.POSITIONAL_ONLY: "is positional-only",
    inspect.Parameter.VAR_POSITIONAL: "is variadic (`*`)",
    inspect.Parameter.VAR_KEYWORD: "is variadic (`**`)",
}


def _require_expressible(parameter: inspect.Parameter) -> None:
    if parameter.kind in _UNNAMED:
        raise ToolDefinitionError(
            f"parameter {parameter.name!r} {_UNNAMED[parameter.kind]}: "
            "arguments come by name, so give each its own named parameter"
        )
    if parameter.annotation is REQUIRED:
        hint = (
            ": decorate the bound method, `tool(service.method)`"
            if parameter.name in {"self", "cls"}
            else ": the schema and the validation are made from it"
        )
        raise ToolDefinitionError(f"parameter {parameter.name!r} has no annotation{hint}")


def _require_keyword_only(parameter: inspect.Parameter) -> None:
    if parameter.kind is not inspect.Parameter.KEYWORD_ONLY:
        raise ToolDefinitionError(
            f"parameter {parameter.name!r} takes the IntentInfo, "
            f"so it must be keyword-only: `*, {parameter.name}: IntentInfo`"
        )


def _refuse_field_default(parameter: inspect.Parameter) -> None:
    if isinstance(parameter.default, FieldInfo):
        raise ToolDefinitionError(
            f"parameter {parameter.name!r} has a Field as its default, which a direct call "
            f"would receive: write `{parameter.name}: Annotated[…, Field(…)] = default`"
        )


def _resolved(parameter: inspect.Parameter, source: Callable[..., object]) -> Any:
    """Evaluate an annotation in the module of the author, strings inside it included."""
    try:
        hint = _evaluated(parameter.annotation, source)
        if sys.version_info < (3, 11):
            hint = _evaluated(_with_references(hint), source)
        _keep(hint, parameter, source)
        return hint
    except Exception as error:  # whatever evaluating the author's expression raises
        raise ToolDefinitionError(
            f"parameter {parameter.name!r}: its annotation {parameter.annotation!r} "
            f"cannot be resolved ({type(error).__name__}: {error}): define or import the type "
            "at module level, outside `if TYPE_CHECKING`"
        ) from error


def _keep(hint: Any, parameter: inspect.Parameter, source: Callable[..., object]) -> None:
    """Put the type in the place of the text that names it.

    A function of `__main__` is pickled with its code, and without the module that could
    evaluate the text once more where a pipeline runs.
    """
    annotations = getattr(source, "__annotations__", {})
    if isinstance(annotations.get(parameter.name), str):
        annotations[parameter.name] = hint


def _evaluated(annotation: Any, source: Callable[..., object]) -> Any:
    # get_type_hints reads classes and functions; a class has no implicit Optional on 3.10.
    holder = type("_", (), {"__annotations__": {"it": annotation}})
    type_parameters = {each.__name__: each for each in getattr(source, "__type_params__", ())}
    names = getattr(source, "__globals__", {})
    return typing.get_type_hints(holder, names, type_parameters, include_extras=True)["it"]


def _with_references(annotation: Any) -> Any:
    """Make `list["Node"]` refer to a type, as typing does by itself from 3.11 on."""
    if not isinstance(annotation, types.GenericAlias):
        return annotation
    inner = [
        typing.ForwardRef(each) if isinstance(each, str) else _with_references(each)
        for each in annotation.__args__
    ]
    origin: Any = annotation.__origin__
    return types.GenericAlias(origin, tuple(inner))


def _without_wrapping(annotation: Any) -> Any:
    """Look through `Annotated`, type aliases and `Optional`."""
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if isinstance(origin, _ALIASES):  # first: on 3.10 its alias passes for what it is made of
        return _without_wrapping(_specialized(origin, inner))
    if isinstance(annotation, _ALIASES):
        return _without_wrapping(annotation.__value__)
    if origin is Annotated:
        return _without_wrapping(inner[0])
    if origin in (typing.Union, types.UnionType):
        members = [each for each in inner if each is not type(None)]
        return _without_wrapping(members[0]) if len(members) == 1 else annotation
    return annotation


def _specialized(alias: Any, arguments: tuple[Any, ...]) -> Any:
    """Return what a generic alias stands for with these arguments."""
    given = dict(zip(alias.__type_params__, arguments, strict=False))
    value = alias.__value__
    open_parameters = tuple(given.get(each, each) for each in getattr(value, "__parameters__", ()))
    return value[open_parameters] if open_parameters else given.get(value, value)
