"""How types appear in a published schema: closed, and spelled as strictly as they are read."""

from __future__ import annotations

import json
from collections.abc import Set
from typing import Any

from pydantic import RootModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import PydanticSerializationError
from pydantic_core import core_schema as cs

from beam_agents.tools.errors import ToolResultError
from beam_agents.tools.results import encode_result
from beam_agents.tools.secrecy import makes_secret
from beam_agents.tools.spellings import encoding_of, pattern_of


class PublishedJsonSchema(GenerateJsonSchema):
    """JSON Schema 2020-12 in which every object is closed."""

    ignored_warning_kinds = {"skipped-choice", "non-serializable-default"}  # noqa: RUF012

    def field_title_should_be_set(self, schema: object) -> bool:
        """Leave out titles that only repeat a name."""
        return False

    # --- closed objects ---------------------------------------------------------------------

    def typed_dict_schema(self, schema: cs.TypedDictSchema) -> JsonSchemaValue:
        """Close a TypedDict."""
        return super().typed_dict_schema(schema) | {"additionalProperties": False}

    def model_schema(self, schema: cs.ModelSchema) -> JsonSchemaValue:
        """Close a model, whatever its own `extra` says; a root model is what it holds."""
        return _closed(super().model_schema(schema))

    def dataclass_schema(self, schema: cs.DataclassSchema) -> JsonSchemaValue:
        """Close a dataclass."""
        return _closed(super().dataclass_schema(schema))

    def dataclass_args_schema(self, schema: cs.DataclassArgsSchema) -> JsonSchemaValue:
        """Leave out fields that no argument fills."""
        filled = [each for each in schema["fields"] if each.get("init", True)]
        return super().dataclass_args_schema({**schema, "fields": filled})

    def dict_schema(self, schema: cs.DictSchema) -> JsonSchemaValue:
        """Close a mapping whose keys have a pattern."""
        published = super().dict_schema(schema)
        if "patternProperties" in published:
            published["additionalProperties"] = False
        return published

    def tagged_union_schema(self, schema: cs.TaggedUnionSchema) -> JsonSchemaValue:
        """Let alternatives overlap where it is a function that chooses among them."""
        published = super().tagged_union_schema(schema)
        if callable(schema["discriminator"]):
            published["anyOf"] = published.pop("oneOf")
        return published

    # --- one spelling -----------------------------------------------------------------------

    def date_schema(self, schema: cs.DateSchema) -> JsonSchemaValue:
        """Spell a date."""
        return super().date_schema(schema) | {"pattern": pattern_of(schema)}

    def time_schema(self, schema: cs.TimeSchema) -> JsonSchemaValue:
        """Spell a time of day."""
        return super().time_schema(schema) | {"pattern": pattern_of(schema)}

    def datetime_schema(self, schema: cs.DatetimeSchema) -> JsonSchemaValue:
        """Spell a point in time."""
        return super().datetime_schema(schema) | {"pattern": pattern_of(schema)}

    def timedelta_schema(self, schema: cs.TimedeltaSchema) -> JsonSchemaValue:
        """Spell a duration."""
        return super().timedelta_schema(schema) | {"pattern": pattern_of(schema)}

    def uuid_schema(self, schema: cs.UuidSchema) -> JsonSchemaValue:
        """Spell a UUID."""
        return super().uuid_schema(schema) | {"pattern": pattern_of(schema)}

    def decimal_schema(self, schema: cs.DecimalSchema) -> JsonSchemaValue:
        """Spell a decimal: a number, or a string where every digit counts."""
        published = super().decimal_schema(schema)
        for branch in published.get("anyOf", ()):
            if branch.get("type") == "string":
                branch["pattern"] = pattern_of(schema)
        return published

    def bytes_schema(self, schema: cs.BytesSchema) -> JsonSchemaValue:
        """Leave out a least length: it counts bytes, of which a character may have several."""
        published = super().bytes_schema(schema)
        published.pop("minLength", None)
        return published

    def function_after_schema(self, schema: cs.AfterValidatorFunctionSchema) -> JsonSchemaValue:
        """Spell what is decoded."""
        published = super().function_after_schema(schema)
        pattern = encoding_of(schema)
        return published | {"pattern": pattern} if pattern else published

    # --- defaults ---------------------------------------------------------------------------

    def get_default_value(self, schema: cs.WithDefaultSchema) -> Any:
        """Keep a set from pydantic, which sorts it by `<`: no order, where the members are sets."""
        default = super().get_default_value(schema)
        return RootModel[Any].model_construct(default) if isinstance(default, Set) else default

    def encode_default(self, default: Any) -> Any:
        """Spell a default as it is spelled in the result of a model, or leave it out."""
        try:
            return json.loads(encode_result(RootModel[Any].model_construct(default)))
        except ToolResultError as error:
            raise PydanticSerializationError(str(error)) from error

    # --- secrets ----------------------------------------------------------------------------

    def json_or_python_schema(self, schema: cs.JsonOrPythonSchema) -> JsonSchemaValue:
        """Mark a `Secret[…]`, as pydantic marks a `SecretStr`."""
        published = super().json_or_python_schema(schema)
        function: Any = schema["json_schema"].get("function", {})
        is_secret = makes_secret(function.get("function"))
        return published | {"writeOnly": True} if is_secret else published


def _closed(published: JsonSchemaValue) -> JsonSchemaValue:
    if "properties" in published:
        return published | {"additionalProperties": False}
    return published
