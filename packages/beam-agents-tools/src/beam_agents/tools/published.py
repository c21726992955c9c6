"""How types appear in a published schema: closed, and spelled as strictly as they are read."""

from __future__ import annotations

from typing import NoReturn

from pydantic.errors import PydanticInvalidForJsonSchema
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema as cs

# One spelling for each value. Without them pydantic also reads numbers in strings as
# timestamps, "1_000" as a decimal, and months as thirty days.
_DATE = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_TIME = r"[0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?([Zz]|[+-][0-9]{2}:[0-9]{2})?"
_HEX = "[0-9a-fA-F]"
PATTERNS = {
    "date": f"^{_DATE}$",
    "time": f"^{_TIME}$",
    "date-time": f"^{_DATE}[Tt ]{_TIME}$",
    "duration": (
        r"^[+-]?P(?=[0-9T])([0-9]+W)?([0-9]+D)?"
        r"(T(?=[0-9])([0-9]+H)?([0-9]+M)?([0-9]+(\.[0-9]{1,6})?S)?)?$"
    ),
    "uuid": f"^{_HEX}{{8}}(-{_HEX}{{4}}){{3}}-{_HEX}{{12}}$",
}
DECIMAL_PATTERN = r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)$"

_KEY_TYPES = frozenset({"str", "enum", "literal", "any"})


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

    # --- one spelling -----------------------------------------------------------------------

    def date_schema(self, schema: cs.DateSchema) -> JsonSchemaValue:
        """Spell a date."""
        return _spelled(super().date_schema(schema))

    def time_schema(self, schema: cs.TimeSchema) -> JsonSchemaValue:
        """Spell a time of day."""
        return _spelled(super().time_schema(schema))

    def datetime_schema(self, schema: cs.DatetimeSchema) -> JsonSchemaValue:
        """Spell a point in time."""
        return _spelled(super().datetime_schema(schema))

    def timedelta_schema(self, schema: cs.TimedeltaSchema) -> JsonSchemaValue:
        """Spell a duration."""
        return _spelled(super().timedelta_schema(schema))

    def uuid_schema(self, schema: cs.UuidSchema) -> JsonSchemaValue:
        """Spell a UUID."""
        return _spelled(super().uuid_schema(schema))

    def decimal_schema(self, schema: cs.DecimalSchema) -> JsonSchemaValue:
        """Spell a decimal: a number, or a string where every digit counts."""
        published = super().decimal_schema(schema)
        for branch in published.get("anyOf", ()):
            if branch.get("type") == "string":
                branch["pattern"] = DECIMAL_PATTERN
        return published

    # --- what cannot be strict --------------------------------------------------------------

    def dict_schema(self, schema: cs.DictSchema) -> JsonSchemaValue:
        """Refuse keys that are not strings in JSON."""
        keys = schema.get("keys_schema")
        if keys is not None and not self._is_string(keys):
            _refuse("JSON has only strings as keys: use str, or an Enum or Literal of strings")
        return super().dict_schema(schema)

    def generator_schema(self, schema: cs.GeneratorSchema) -> JsonSchemaValue:
        """Refuse what is validated only while the tool already runs."""
        _refuse("an Iterable is validated lazily: use list or Sequence")

    def call_schema(self, schema: cs.CallSchema) -> JsonSchemaValue:
        """Refuse named tuples, which arguments could spell in two ways."""
        _refuse("a NamedTuple can be an array or an object: use a dataclass")

    def _is_string(self, schema: cs.CoreSchema) -> bool:
        published = self.generate_inner(schema)
        while "$ref" in published:
            published = self.get_schema_from_definitions(published["$ref"]) or {}
        return published.get("type", "string") == "string" and "anyOf" not in published


def _closed(published: JsonSchemaValue) -> JsonSchemaValue:
    if "properties" in published or published.get("type") == "object":
        return published | {"additionalProperties": False}
    return published


def _spelled(published: JsonSchemaValue) -> JsonSchemaValue:
    return published | {"pattern": PATTERNS[published["format"]]}


def _refuse(reason: str) -> NoReturn:
    raise PydanticInvalidForJsonSchema(reason)
