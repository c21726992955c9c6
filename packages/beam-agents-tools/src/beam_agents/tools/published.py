"""How types appear in a published schema: closed, and spelled as strictly as they are read."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from pydantic import RootModel
from pydantic.errors import PydanticInvalidForJsonSchema
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import PydanticSerializationError
from pydantic_core import core_schema as cs

from beam_agents.tools.errors import ToolResultError
from beam_agents.tools.results import encode_result
from beam_agents.tools.secrecy import makes_secret

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


_NAMED_TUPLE = "a NamedTuple can be an array or an object: use a dataclass"


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

    # --- defaults ---------------------------------------------------------------------------

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

    # --- what cannot be strict --------------------------------------------------------------

    def dict_schema(self, schema: cs.DictSchema) -> JsonSchemaValue:
        """Refuse keys that are not strings in JSON."""
        self._require_string_keys(schema)
        published = super().dict_schema(schema)
        if "patternProperties" in published:
            published["additionalProperties"] = False
        return published

    def ordered_dict_schema(self, schema: cs.OrderedDictSchema) -> JsonSchemaValue:
        """Refuse keys that are not strings in JSON."""
        self._require_string_keys(schema)
        return super().ordered_dict_schema(schema)

    def counter_schema(self, schema: cs.CounterSchema) -> JsonSchemaValue:
        """Refuse keys that are not strings in JSON."""
        self._require_string_keys(schema)
        return super().counter_schema(schema)

    def union_schema(self, schema: cs.UnionSchema) -> JsonSchemaValue:
        """Refuse a Literal of 1 beside bool, or of True beside int: Python finds them equal."""
        published = super().union_schema(schema)
        members = [self._resolved(each) for each in published.get("anyOf", ())]
        types = {member.get("type") for member in members if _values(member) is None}
        for value in [value for member in members for value in _values(member) or ()]:
            confused = {"integer", "number"} if isinstance(value, bool) else {"boolean"}
            if value in (0, 1) and types & confused:
                _refuse(f"{value!r} and the type beside it cannot be told apart: use an Enum")
        return published

    def model_field_schema(self, schema: cs.ModelField) -> JsonSchemaValue:
        """Refuse a field of several names."""
        _require_one_name(schema)
        return super().model_field_schema(schema)

    def dataclass_field_schema(self, schema: cs.DataclassField) -> JsonSchemaValue:
        """Refuse a field of several names."""
        _require_one_name(schema)
        return super().dataclass_field_schema(schema)

    def typed_dict_field_schema(self, schema: cs.TypedDictField) -> JsonSchemaValue:
        """Refuse a field of several names."""
        _require_one_name(schema)
        return super().typed_dict_field_schema(schema)

    def generator_schema(self, schema: cs.GeneratorSchema) -> JsonSchemaValue:
        """Refuse what is validated only while the tool already runs."""
        _refuse("an Iterable is validated lazily: use list or Sequence")

    def named_tuple_schema(self, schema: cs.NamedTupleSchema) -> JsonSchemaValue:
        """Refuse named tuples, which arguments could spell as an array or as an object."""
        _refuse(_NAMED_TUPLE)

    def call_schema(self, schema: cs.CallSchema) -> JsonSchemaValue:
        """Refuse named tuples as older versions of pydantic see them."""
        _refuse(_NAMED_TUPLE)

    def _require_string_keys(self, schema: Any) -> None:
        keys = schema.get("keys_schema")
        if keys is not None and not self._is_string(keys):
            _refuse("JSON has only strings as keys: use str, or an Enum or Literal of strings")

    def _is_string(self, schema: cs.CoreSchema) -> bool:
        published = self._resolved(self.generate_inner(schema))
        return published.get("type", "string") == "string" and "anyOf" not in published

    def _resolved(self, published: JsonSchemaValue) -> JsonSchemaValue:
        while "$ref" in published:
            published = self.get_schema_from_definitions(published["$ref"]) or {}
        return published


def _values(published: JsonSchemaValue) -> list[object] | None:
    """Return the values of a Literal or an Enum."""
    found: list[object] | None = published.get("enum")
    return [published["const"]] if "const" in published else found


def _closed(published: JsonSchemaValue) -> JsonSchemaValue:
    if "properties" in published:
        return published | {"additionalProperties": False}
    return published


def _require_one_name(field: cs.ModelField | cs.DataclassField | cs.TypedDictField) -> None:
    if not isinstance(field.get("validation_alias", ""), str):
        _refuse("AliasChoices and AliasPath let arguments spell one field in several ways")


def _spelled(published: JsonSchemaValue) -> JsonSchemaValue:
    return published | {"pattern": PATTERNS[published["format"]]}


def _refuse(reason: str) -> NoReturn:
    raise PydanticInvalidForJsonSchema(reason)
