"""The one JSON schema of a tool's arguments, made from the types that also validate them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, TypeAlias

from pydantic import TypeAdapter, ValidationError
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, SchemaValidator
from typing_extensions import NotRequired, TypedDict

from beam_agents.tools.core_nodes import InexactError
from beam_agents.tools.errors import ToolDefinitionError, ToolResultError
from beam_agents.tools.exactness import exact
from beam_agents.tools.published import PublishedJsonSchema
from beam_agents.tools.results import encode_result
from beam_agents.tools.secrecy import without_secret_defaults
from beam_agents.tools.signature import REQUIRED, Argument

Adapter: TypeAlias = "TypeAdapter[dict[str, object]]"


def build_adapter(arguments: tuple[Argument, ...]) -> Adapter:
    """Describe JSON objects that have these arguments as members.

    Raises:
        ToolDefinitionError: Naming the parameter whose type has no JSON form.
    """
    for each in arguments:
        _require_validatable(each)
    return _adapter(*arguments)


def build_validator(adapter: Adapter, *, strict: bool) -> SchemaValidator:
    """Make the validator of what an adapter describes.

    Raises:
        ToolDefinitionError: Naming the parameter whose type cannot be read exactly.
    """
    return SchemaValidator(_exact(adapter, strict=strict), _use_prebuilt=False)


def read(
    validator: SchemaValidator, text: bytes, *, strict: bool | None = None
) -> dict[str, object]:
    """Validate a JSON object by the names that are published, and no others.

    Args:
        validator: Made by `build_validator`, whose nodes are strict where they must be.
        text: The object.
        strict: `False` for a tool that is not strict.

    Raises:
        ValidationError: It is not what is published.
    """
    given: dict[str, object] = validator.validate_json(
        text, strict=strict, extra="forbid", by_alias=True, by_name=False
    )
    return given


def build_schema(
    adapter: Adapter, arguments: tuple[Argument, ...], descriptions: Mapping[str, str]
) -> JsonSchemaValue:
    """Publish what is described, with descriptions and defaults."""
    schema = _json_schema(adapter)
    del schema["title"]
    for argument in arguments:
        member = schema["properties"][argument.name]
        if argument.name in descriptions:
            member.setdefault("description", descriptions[argument.name])
        member |= _default(argument)
    return without_secret_defaults(schema)


def _adapter(*arguments: Argument) -> Adapter:
    members: dict[str, Any] = {
        each.name: each.annotation if each.default is REQUIRED else NotRequired[each.annotation]
        for each in arguments
    }
    make: Any = TypedDict  # type checkers know its calls only with literal members
    return TypeAdapter(make("Arguments", members))


def _require_validatable(argument: Argument) -> None:
    try:
        adapter = _adapter(argument)
        _exact(adapter)
        _json_schema(adapter)
    except ToolDefinitionError:
        raise
    except Exception as error:  # whatever pydantic, or a hook of the author's type, raises
        raise ToolDefinitionError(
            f"parameter {argument.name!r}: arguments of type {argument.annotation!r} "
            f"cannot be validated from JSON: {str(error).splitlines()[0]}"
        ) from error
    if argument.default is not REQUIRED and _has_field_default(adapter, argument.name):
        raise ToolDefinitionError(
            f"parameter {argument.name!r} has a default of its own and one in its Field: "
            f"write `{argument.name}: … = default`"
        )


def _has_field_default(adapter: Adapter, name: str) -> bool:
    root: Any = adapter.core_schema
    typed = root["schema"] if root["type"] == "definitions" else root
    return bool(typed["fields"][name]["schema"]["type"] == "default")


def _exact(adapter: Adapter, *, strict: bool = True) -> CoreSchema:
    try:
        return exact(adapter.core_schema, strict=strict)
    except InexactError as error:
        name = re.split(r"\W", error.path)[0]
        place = "" if name == error.path else f", at {error.path}"
        raise ToolDefinitionError(f"parameter {name!r}{place}: {error.reason}") from error


def _json_schema(adapter: Adapter) -> JsonSchemaValue:
    return adapter.json_schema(schema_generator=PublishedJsonSchema, mode="validation")


def _default(argument: Argument) -> dict[str, object]:
    """Return the default as the schema may show it: not at all, if no argument could be it."""
    if argument.default is REQUIRED:
        return {}
    try:
        document = encode_result({argument.name: argument.default})
        read(build_validator(_adapter(argument), strict=True), document)
    except (ToolResultError, ValidationError):
        return {}
    return {"default": json.loads(document)[argument.name]}
