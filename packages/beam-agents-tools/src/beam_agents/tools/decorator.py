"""`@tool`, in all the ways it can be written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NoReturn, TypeVar, overload

from typing_extensions import ParamSpec, Unpack

from beam_agents.tools.definition import Tool
from beam_agents.tools.options import ToolOptions

P = ParamSpec("P")
R = TypeVar("R")


class ToolDecorator:
    """Makes a `Tool` of a function: `@tool`, `@tool(name=…)`, or `tool(function, name=…)`.

    Functions, bound methods, callable objects, partials, and async variants of
    each can be tools. For options see `ToolOptions`; `side_effect=True` says that the
    tool changes something outside, so that only an effector may run it.

    Raises:
        ToolDefinitionError: At once, naming the parameter or option that cannot work.
    """

    def __init__(self, made: Callable[[Tool], object] = lambda tool: None) -> None:
        self._made = made

    @overload
    def __call__(
        self,
        function: Callable[P, R],
        /,
        *,
        side_effect: Literal[False] = False,
        **options: Unpack[ToolOptions],
    ) -> Tool[P, R]: ...

    @overload
    def __call__(
        self,
        function: Callable[..., object],
        /,
        *,
        side_effect: Literal[True],
        **options: Unpack[ToolOptions],
    ) -> Tool[..., NoReturn]: ...

    @overload
    def __call__(
        self, /, *, side_effect: Literal[False] = False, **options: Unpack[ToolOptions]
    ) -> Callable[[Callable[P, R]], Tool[P, R]]: ...

    # mypy takes P of the one decorator and of the other for different ones.
    @overload
    def __call__(  # type: ignore[overload-overlap]
        self, /, *, side_effect: Literal[True], **options: Unpack[ToolOptions]
    ) -> Callable[[Callable[P, object]], Tool[..., NoReturn]]: ...

    @overload
    def __call__(
        self, function: Callable[P, R], /, *, side_effect: bool, **options: Unpack[ToolOptions]
    ) -> Tool[P, R]: ...

    @overload
    def __call__(
        self, /, *, side_effect: bool, **options: Unpack[ToolOptions]
    ) -> Callable[[Callable[P, R]], Tool[P, R]]: ...

    def __call__(
        self,
        function: Callable[..., Any] | None = None,
        /,
        *,
        side_effect: bool = False,
        **options: Unpack[ToolOptions],
    ) -> Any:
        """Make a tool now, or return a decorator that does."""

        def make(function: Callable[..., Any]) -> Tool:
            made: Tool = Tool(function, side_effect=side_effect, **options)
            self._made(made)
            return made

        return make if function is None else make(function)


tool = ToolDecorator()
