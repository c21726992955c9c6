from __future__ import annotations

import base64
from pathlib import Path

import pytest

from beam_agents.effector.banner import at_least_once, banner_fields
from beam_agents.effector.config import EffectorOptions
from beam_agents.effector.errors import SettingsError
from beam_agents.effector.preparation import Prepared, prepare
from beam_agents.effector.schemes import STORE_CALL_TIMEOUT_MS
from beam_agents.tools import IntentInfo, ToolRegistry, tool

_TOOLS = """
from beam_agents.tools import ToolRegistry, tool

@tool(side_effect=True, timeout_ms=25_000)
def refund(amount: int) -> str:
    return "refunded"

TOOLS = ToolRegistry(refund)
NUMBER = 7
"""
_KEYS = "k1=" + base64.b64encode(b"\x01" * 32).decode()


@pytest.fixture(autouse=True)
def app_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory of an application whose module is called like the test."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "prepared_app.py").write_text(_TOOLS)
    return tmp_path


def given(**more: object) -> dict[str, object]:
    return {
        "registry": "prepared_app:TOOLS",
        "intents_from": "sqlite:///bus.db?topic=intents",
        "results_to": "sqlite:///bus.db?topic=results",
        "dedup": "memory://",
        **more,
    }


def mistakes(**more: object) -> tuple[str, ...]:
    with pytest.raises(SettingsError) as raised:
        prepare(given(**more), {})
    return raised.value.mistakes


def test_a_registry_is_imported_from_the_working_directory() -> None:
    prepared = prepare(given(), {})

    assert [tool.name for tool in prepared.registry] == ["refund"]


def test_without_settings_of_ones_own_the_engine_has_its_defaults() -> None:
    assert prepare(given(), {}).options == EffectorOptions(
        store_call_timeout_ms=STORE_CALL_TIMEOUT_MS
    )


def test_a_module_that_is_missing_is_told_in_one_line() -> None:
    [mistake] = mistakes(registry="no_such_app:TOOLS")

    assert mistake == (
        "--registry: 'no_such_app:TOOLS': module 'no_such_app' cannot be imported: "
        "ModuleNotFoundError: No module named 'no_such_app'"
    )


def test_a_module_that_fails_is_told_with_the_place(app_folder: Path) -> None:
    (app_folder / "failing_app.py").write_text("KEYS = {}\nKEYS['stripe']\n")

    [mistake] = mistakes(registry="failing_app:TOOLS")

    assert "cannot be imported: KeyError: 'stripe' (File " in mistake
    assert 'failing_app.py", line 2' in mistake
    assert "\n" not in mistake


def test_an_attribute_that_is_missing_or_no_registry_is_told_apart() -> None:
    [missing] = mistakes(registry="prepared_app:TOOLZ")
    [no_registry] = mistakes(registry="prepared_app:NUMBER")

    assert missing.endswith("has no attribute 'TOOLZ'; it has TOOLS")
    assert no_registry.endswith("is a int, not a ToolRegistry")


def test_a_keyring_that_cannot_be_read_is_named() -> None:
    [mistake] = mistakes(signing_keys="file:missing", verify_intents="require")

    assert mistake == "--signing-keys: 'file:missing' cannot be read: No such file or directory"


def test_a_key_that_is_not_in_the_keyring_is_named(app_folder: Path) -> None:
    (app_folder / "keys").write_text(_KEYS)

    [mistake] = mistakes(signing_keys="file:keys", sign_results="k2")

    assert mistake.startswith("--sign-results: ")
    assert "no key 'k2'" in mistake
    assert _KEYS not in mistake


def test_results_are_signed_with_the_named_key(app_folder: Path) -> None:
    (app_folder / "keys").write_text(_KEYS)

    prepared = prepare(given(signing_keys="file:keys", sign_results="k1"), {})

    assert prepared.signer is not None
    assert prepared.intent_keys is not None


def test_mistakes_of_settings_registry_and_keyrings_come_together() -> None:
    found = mistakes(
        registry="no_such_app:TOOLS",
        dedup="postgres://db",
        approval_keys="env:NO_SUCH_KEYS",
        refuse_tools="file:missing",
    )

    assert [mistake.partition(":")[0] for mistake in found] == [
        "--dedup",
        "--registry",
        "--approval-keys",
        "--refuse-tools",
    ]


def test_without_renewal_the_lease_must_exceed_every_timeout() -> None:
    of_the_setting, of_the_tool = mistakes(no_lease_renewal=True, lease_ms="20000")
    [of_the_tool_alone] = mistakes(no_lease_renewal=True, lease_ms="25000")

    assert of_the_setting.endswith(
        "--tool-timeout-ms, else a tool outlives its claim: 20000 <= 20000"
    )
    assert of_the_tool.endswith("20000 <= 25000 of 'refund'")
    assert of_the_tool_alone.endswith("25000 <= 25000 of 'refund'")


def test_a_broken_budget_is_told_beside_a_registry_that_is_missing() -> None:
    found = mistakes(registry="no_such_app:TOOLS", no_lease_renewal=True, lease_ms="20000")

    assert len(found) == 2


def test_a_tool_that_requires_approval_needs_a_way_to_check_it(app_folder: Path) -> None:
    (app_folder / "approving_app.py").write_text(
        _TOOLS.replace("side_effect=True", "side_effect=True, requires_approval=True")
    )
    (app_folder / "keys").write_text(_KEYS)
    registry = "approving_app:TOOLS"

    [mistake] = mistakes(registry=registry)

    assert mistake.startswith("the tool 'refund' requires an approval, and anybody could write")
    assert prepare(given(registry=registry, approval_keys="file:keys"), {}).approval_keys
    assert prepare(
        given(registry=registry, signing_keys="file:keys", verify_intents="require"), {}
    ).intent_keys


def test_the_banner_names_the_backends_and_hides_their_credentials() -> None:
    fields = banner_fields(_prepared_with_a_password())

    assert fields["dedup"] == "redis://***@redis"
    assert fields["intents_from"] == "sqlite:///bus.db?topic=intents"
    assert fields["tools"] == 1
    assert fields["lease_ms"] == 30_000


def test_the_banner_names_the_tools_whose_effect_may_happen_again() -> None:
    @tool(side_effect=True)
    def unkeyed() -> None: ...

    @tool(side_effect=True)
    def keyed(*, intent: IntentInfo) -> None: ...

    @tool
    def harmless() -> None: ...

    assert at_least_once(ToolRegistry(unkeyed, keyed, harmless)) == ["unkeyed"]


def test_the_banner_tells_sets_of_tools_apart(app_folder: Path) -> None:
    (app_folder / "other_app.py").write_text(_TOOLS.replace("amount: int", "amount: str"))
    (app_folder / "same_app.py").write_text(_TOOLS)

    digests = [
        banner_fields(prepare(given(registry=f"{name}:TOOLS"), {}))["manifest_digest"]
        for name in ("prepared_app", "same_app", "other_app")
    ]

    assert digests[0] == digests[1] != digests[2]


def _prepared_with_a_password() -> Prepared:
    return prepare(given(dedup="redis://bob:s3cret@redis"), {})
