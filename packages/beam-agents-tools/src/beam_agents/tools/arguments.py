"""Reads a tool's arguments: strictly, from JSON, into real instances."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from beam_agents.tools.canonical_json import JsonValue, canonical_json, parse_json
from beam_agents.tools.errors import ArgumentProblem, CanonicalJsonError, ToolArgumentsError
from beam_agents.tools.exactness import Exactness
from beam_agents.tools.json_path import json_path
from beam_agents.tools.problems import argument_problem, secret_names
from beam_agents.tools.schema import build_schema, build_validator, require_validatable
from beam_agents.tools.signature import REQUIRED, Argument


class Arguments:
    """The arguments of one tool.

    Attributes:
        names: In the order of the definition.
        schema: What may be sent, as JSON Schema 2020-12.
    """

    def __init__(
        self, arguments: tuple[Argument, ...], descriptions: Mapping[str, str], *, strict: bool
    ) -> None:
        for each in arguments:
            require_validatable(each)
        self._validator = build_validator(arguments)
        self._strict = strict
        self._defaults = {e.name: e.default for e in arguments if e.default is not REQUIRED}
        self.names = tuple(each.name for each in arguments)
        self.schema: dict[str, Any] = build_schema(self._validator, arguments, descriptions)
        self._secrets = secret_names(self.schema)
        exactness = Exactness(self.schema)
        self._exactness = exactness if strict and exactness.needed else None

    def parse(self, tool_name: str, args_json: str | bytes) -> dict[str, object]:
        """Validate a JSON object into the values that the function takes, by name.

        Raises:
            ToolArgumentsError: Listing every problem.
        """
        try:
            document = parse_json(args_json)
            # What is validated is the canonical text, so that 5.0 is the 5 that it means
            # wherever the arguments are read.
            canonical = canonical_json(document)
        except CanonicalJsonError as error:
            raise _refusal(tool_name, [ArgumentProblem(error.path, error.problem)]) from None
        given: dict[str, object] = {}
        problems: list[ArgumentProblem] = []
        try:
            given = self._validator.validate_json(
                canonical, strict=self._strict, extra="forbid", by_alias=True, by_name=False
            )
        except ValidationError as error:
            problems = self._described(error, document)
        if self._exactness is not None:
            problems += _found_by(self._exactness, document, besides=problems)
        if problems:
            raise _refusal(tool_name, problems)
        return self._defaults | given

    def _described(self, error: ValidationError, document: JsonValue) -> list[ArgumentProblem]:
        details = error.errors(include_url=False, include_context=False)
        found = (argument_problem(each, document, self._secrets) for each in details)
        return list(dict.fromkeys(found))


def _found_by(
    exactness: Exactness, document: JsonValue, *, besides: Sequence[ArgumentProblem]
) -> list[ArgumentProblem]:
    """Return what the validator let pass; where it has complained, its words are enough."""
    known = [problem.path for problem in besides]
    found = (ArgumentProblem(json_path(p), problem) for p, problem in exactness.findings(document))
    return [each for each in found if not any(path.startswith(each.path) for path in known)]


def _refusal(tool_name: str, problems: Sequence[ArgumentProblem]) -> ToolArgumentsError:
    return ToolArgumentsError(f"tool {tool_name!r} refuses its arguments", problems)
