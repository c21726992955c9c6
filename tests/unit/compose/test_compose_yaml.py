"""`compose.yaml` is valid, and starts what `compose/local` starts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from compose.local.server import known_names, server_named
from compose.local.servers import kafka

COMPOSE = Path(__file__).parents[3] / "compose" / "compose.yaml"
# The schema that the Compose Specification publishes (Apache-2.0).
SCHEMA = Path(__file__).with_name("compose-spec.json")
# Prism is for tests alone, and no image of it is published.
CONTAINED = sorted(set(known_names()) - {"prism"})
SHOP = {"topics", "effector", "pipeline"}


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load(COMPOSE.read_text())
    return document


@pytest.fixture(scope="module")
def validator() -> jsonschema.Draft7Validator:
    return jsonschema.Draft7Validator(json.loads(SCHEMA.read_text()))


def test_it_is_a_compose_file(
    compose: dict[str, Any], validator: jsonschema.Draft7Validator
) -> None:
    validator.validate(compose)


def test_the_schema_notices_a_misspelt_key(
    compose: dict[str, Any], validator: jsonschema.Draft7Validator
) -> None:
    redis = {**compose["services"]["redis"], "healthchek": {}}

    assert not validator.is_valid({**compose, "services": {"redis": redis}})


def test_it_has_the_servers_that_are_started_from_packages(compose: dict[str, Any]) -> None:
    assert set(compose["services"]) - SHOP == set(CONTAINED)


def test_only_the_servers_start_unless_the_shop_is_asked_for(compose: dict[str, Any]) -> None:
    profiles = {name: each.get("profiles", []) for name, each in compose["services"].items()}

    assert {name for name, asked_for in profiles.items() if asked_for} == SHOP


def test_nothing_is_published_beyond_this_host(compose: dict[str, Any]) -> None:
    published = [
        port for service in compose["services"].values() for port in service.get("ports", ())
    ]

    assert all(port.startswith("127.0.0.1:") for port in published)


@pytest.mark.parametrize("name", CONTAINED)
def test_a_server_is_on_the_same_loopback_port(compose: dict[str, Any], name: str) -> None:
    port = server_named(name).port

    [published] = compose["services"][name]["ports"]

    assert published.startswith(f"127.0.0.1:${{{port.variable}:-{port.default}}}:")


@pytest.mark.parametrize("name", CONTAINED)
def test_a_server_says_when_it_is_ready(compose: dict[str, Any], name: str) -> None:
    assert "test" in compose["services"][name]["healthcheck"]


def test_every_volume_of_a_server_is_declared(compose: dict[str, Any]) -> None:
    used = {
        volume.partition(":")[0]
        for service in compose["services"].values()
        for volume in service.get("volumes", ())
        if not volume.startswith(".")
    }

    assert used == set(compose["volumes"])


def test_kafka_is_of_the_same_version(compose: dict[str, Any]) -> None:
    version = compose["services"]["kafka"]["image"].partition(":")[2]

    assert f"<version>{version}</version>" in kafka.POM
