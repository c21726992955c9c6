"""Which words of a validator's errors may be shown, because no value can stand in them."""

from __future__ import annotations

import sys
from traceback import walk_tb

from pydantic_core import ErrorDetails

from beam_agents.tools.exact_errors import EXACT_ERRORS

# Types of pydantic-core's errors whose texts are made of the schema and of fixed phrases.
# One that is not here, such as a later version's, is not quoted. Missing on purpose are
# those that repeat the input: `union_tag_invalid`, `uuid_parsing`, `timezone_offset` …
_WITHOUT_INPUT = frozenset(
    """
    arguments_type bool_parsing bool_type bytes_too_long bytes_too_short bytes_type
    complex_str_parsing complex_type counter_type dataclass_exact_type dataclass_type
    date_from_datetime_inexact date_from_datetime_parsing date_future date_parsing date_past
    date_type datetime_from_date_parsing datetime_future datetime_parsing datetime_past
    datetime_type decimal_max_digits decimal_max_places decimal_parsing decimal_type
    decimal_whole_digits default_factory_not_called deque_type dict_type enum finite_number
    float_parsing float_type fraction_parsing fraction_type frozen_set_type greater_than
    greater_than_equal int_from_float int_parsing int_parsing_size int_type invalid_key
    is_instance_of iterable_type json_type less_than less_than_equal list_type literal_error
    model_attributes_type model_type multiple_of none_required ordered_dict_type
    recursion_loop set_item_not_hashable set_type string_not_ascii string_pattern_mismatch
    string_too_long string_too_short string_type string_unicode time_delta_parsing
    time_delta_type time_parsing time_type timezone_aware timezone_naive too_long too_short
    tuple_type union_tag_not_found url_parsing url_scheme url_too_long url_type uuid_type
    uuid_version
    """.split()  # noqa: SIM905 (as a list it has eighty lines)
)
_EXPECTED = "Input should be "
_LIBRARIES = sys.stdlib_module_names | {"pydantic", "pydantic_core", "pydantic_extra_types"}


def pydantics_own(error: ErrorDetails) -> str | None:
    """Return what pydantic says, if its text cannot repeat the input."""
    if error["type"] == "union_tag_invalid":
        context = error["ctx"]
        return f"expected {context['discriminator']} to be one of {context['expected_tags']}"
    if error["type"] not in _WITHOUT_INPUT | EXACT_ERRORS:
        return None
    message = error["msg"]
    if message.startswith(_EXPECTED):
        return f"expected {message.removeprefix(_EXPECTED)}"
    return message


def authors_own(error: ErrorDetails) -> str | None:
    """Return what a validator of the author's says; it may repeat all that it saw.

    What the standard library raises is not theirs, though it was they who called it:
    `IPv4Address` and its like repeat their input without anybody's having asked for it.
    """
    raised = error.get("ctx", {}).get("error")
    if not isinstance(raised, Exception):
        return None
    modules = [frame.f_globals.get("__name__", "") for frame, _ in walk_tb(raised.__traceback__)]
    if not modules or modules[-1].partition(".")[0] in _LIBRARIES:
        return None
    return error["msg"]
