"""What the images are made of, and what the shop's containers are told, is really there."""

from __future__ import annotations

import re
from importlib.metadata import metadata
from pathlib import Path
from typing import Any

import pytest
import yaml

from beam_agents.effector.reading import read_settings

ROOT = Path(__file__).parents[3]
SHOP = ROOT / "docs/examples/shop"
IMAGES = ["effector", "pipeline"]


def dockerfile(image: str) -> str:
    return (ROOT / f"compose/{image}.Dockerfile").read_text()


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load((ROOT / "compose/compose.yaml").read_text())
    services: dict[str, Any] = document["services"]
    return services


@pytest.mark.parametrize("image", IMAGES)
def test_an_image_copies_what_exists(image: str) -> None:
    copied = re.findall(r"^COPY (packages/\S+)", dockerfile(image), re.MULTILINE)

    assert copied
    assert all((ROOT / path / "pyproject.toml").exists() for path in copied)


@pytest.mark.parametrize("image", IMAGES)
def test_an_image_installs_extras_that_exist(image: str) -> None:
    [(package, extra)] = re.findall(r"\./packages/([\w-]+)\[(\w+)\]", dockerfile(image))

    assert extra in (metadata(package).get_all("Provides-Extra") or [])


@pytest.mark.parametrize("image", IMAGES)
def test_an_image_runs_as_a_user_without_rights(image: str) -> None:
    last_stage = dockerfile(image).rpartition("FROM ")[2]

    assert "\nUSER 10001\n" in last_stage


def test_the_effector_s_image_has_no_beam() -> None:
    assert "beam-agents-core" not in dockerfile("effector")


def test_the_shop_s_effector_is_told_settings_that_are_valid(services: dict[str, Any]) -> None:
    environment = services["effector"]["environment"]

    settings = read_settings({}, environment)

    assert settings.http == "0.0.0.0:8080"
    module = settings.registry.partition(":")[0]
    assert (SHOP / f"{module}.py").exists()


def test_the_shop_s_pipeline_is_a_program_that_exists(services: dict[str, Any]) -> None:
    assert (SHOP / services["pipeline"]["command"][0]).exists()


def test_the_shop_s_topics_are_those_that_its_pipeline_uses(services: dict[str, Any]) -> None:
    [script] = services["topics"]["command"]
    made = set(re.findall(r"for topic in ([\w -]+);", script)[0].split())
    program = (SHOP / "shop_pipeline.py").read_text()
    used = set(re.findall(r"read\(\"([\w-]+)\"\)|topics}([\w-]+)\"", program))
    agents = re.findall(r"AGENTS = {(.*)}", (SHOP / "shop_agents.py").read_text())[0]
    namespaces = re.findall(r"\"(\w+)\":", agents)

    retries = {f"retries-{namespace}" for namespace in namespaces}
    assert made == {one or other for one, other in used} | retries
