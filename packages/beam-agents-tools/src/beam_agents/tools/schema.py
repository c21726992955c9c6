"""The one JSON schema of a tool's arguments, made from the types that also validate them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic.json_schema import JsonSchemaValue
from typing_extensions import NotRequired, TypedDict

from beam_agents.tools.errors import ToolDefinitionError, ToolResultError
from beam_agents.tools.published import PublishedJsonSchema
from beam_agents.tools.results import encode_result
from beam_agents.tools.secrecy import without_secret_defaults
from beam_agents.tools.signature import REQUIRED, Argument

Validator = TypeAdapter[dict[str, object]]


def build_validator(arguments: tuple[Argument, ...]) -> Validator:
    """Make the validator of JSON objects that have these arguments as members."""
    members: dict[str, Any] = {
        each.name: each.annotation if each.default is REQUIRED else NotRequired[each.annotation]
        for each in arguments
    }
    make: Any = TypedDict  # type checkers know its calls only with literal members
    typed = make("Arguments", members)
    typed.__pydantic_config__ = ConfigDict(extra="forbid")
    return TypeAdapter(typed)


def build_schema(
    validator: Validator, arguments: tuple[Argument, ...], descriptions: Mapping[str, str]
) -> JsonSchemaValue:
    """Publish what the validator accepts, with descriptions and defaults."""
    schema = _json_schema(validator)
    del schema["title"]
    for argument in arguments:
        member = schema["properties"][argument.name]
        if argument.name in descriptions:
            member.setdefault("description", descriptions[argument.name])
        member |= _default(argument)
    return without_secret_defaults(schema)


def require_validatable(argument: Argument) -> None:
    """Refuse a type that cannot be validated from JSON, or not strictly.

    Raises:
        ToolDefinitionError: Naming the parameter.
    """
    try:
        _json_schema(TypeAdapter(argument.annotation))
    except Exception as error:  # whatever pydantic, or a hook of the author's type, raises
        raise ToolDefinitionError(
            f"parameter {argument.name!r}: arguments of type {argument.annotation!r} "
            f"cannot be validated from JSON: {str(error).splitlines()[0]}"
        ) from error


def keeps_digits(validator: Validator) -> bool:
    """Tell whether a type anywhere in it reads more digits of a number than a double has."""
    return _has_type(validator.core_schema, ("decimal", "fraction"))


def _has_type(node: object, names: tuple[str, ...]) -> bool:
    if isinstance(node, dict):
        return node.get("type") in names or any(_has_type(each, names) for each in node.values())
    return isinstance(node, list) and any(_has_type(each, names) for each in node)


def _json_schema(adapter: TypeAdapter[Any]) -> JsonSchemaValue:
    return adapter.json_schema(schema_generator=PublishedJsonSchema, mode="validation")


def _default(argument: Argument) -> dict[str, object]:
    """Return the default as the schema may show it: not at all, if no argument could be it."""
    if argument.default is REQUIRED:
        return {}
    try:
        encoded = encode_result(argument.default)
        TypeAdapter(argument.annotation).validate_json(encoded, strict=True)
    except (ToolResultError, ValidationError):
        return {}
    return {"default": json.loads(encoded)}
