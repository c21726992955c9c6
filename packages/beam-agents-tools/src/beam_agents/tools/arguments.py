"""Reads a tool's arguments: strictly, from JSON, into real instances."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from beam_agents.tools.document import Document
from beam_agents.tools.errors import ArgumentProblem, CanonicalJsonError, ToolArgumentsError
from beam_agents.tools.json_reader import JsonValue, read_json
from beam_agents.tools.json_writer import canonical_json
from beam_agents.tools.problems import ProblemWriter
from beam_agents.tools.schema import build_adapter, build_schema, build_validator, read
from beam_agents.tools.secrecy import takes_secret
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
        adapter = build_adapter(arguments)
        self._validator = build_validator(adapter, strict=strict)
        self._strict = None if strict else False
        self._defaults = {e.name: e.default for e in arguments if e.default is not REQUIRED}
        self.names = tuple(each.name for each in arguments)
        self.schema: dict[str, Any] = build_schema(adapter, arguments, descriptions)
        secret = takes_secret(adapter.core_schema, self.schema)
        self._problems = ProblemWriter(self.schema, secret)

    def parse(self, tool_name: str, args_json: str | bytes | Document) -> dict[str, object]:
        """Validate a JSON object into the values that the function takes, by name.

        Raises:
            ToolArgumentsError: Listing every problem.
        """
        try:
            document, text = self._read(args_json)
        except CanonicalJsonError as error:
            raise _refusal(tool_name, [ArgumentProblem(error.path, error.problem)]) from None
        try:
            given = read(self._validator, text, strict=self._strict)
        except ValidationError as error:
            problems = self._described(error, document)
        except Exception as error:  # a validator of the author's may raise anything
            # The type only: its text may repeat a value that is a secret.
            raised = type(error).__name__
            problems = [ArgumentProblem("$", f"a validator of the tool raised {raised}")]
        else:
            return self._defaults | given
        raise _refusal(tool_name, problems)  # out here, where no error hangs on to the values

    def _read(self, args_json: str | bytes | Document) -> tuple[JsonValue, bytes]:
        """Parse the arguments, and return the text to validate.

        It is the canonical one, in which 5.0 is the 5 that it means, so that what is
        validated is what was digested, approved and signed. A text of plain values reads
        the same as it stands.
        """
        if isinstance(args_json, Document):
            return args_json
        document, plain = read_json(args_json)
        if plain is None:
            return document, canonical_json(document)
        return document, args_json.encode() if isinstance(args_json, str) else args_json

    def _described(self, error: ValidationError, document: JsonValue) -> list[ArgumentProblem]:
        details = error.errors(include_url=False)
        found = (self._problems.problem(each, document) for each in details)
        return list(dict.fromkeys(found))


def _refusal(tool_name: str, problems: Sequence[ArgumentProblem]) -> ToolArgumentsError:
    return ToolArgumentsError(f"tool {tool_name!r} refuses its arguments", problems)
