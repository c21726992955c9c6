"""The Slack example, against a server that answers in the shapes that Slack documents."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import importlib.util
import json
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from aiohttp import ClientSession, web
from aiohttp.test_utils import TestServer
from yarl import URL

from beam_agents._protos import AgentEnvelope, ToolIntent
from beam_agents.effector.backends.sqlite_sink import SqliteSink
from beam_agents.effector.backends.sqlite_source import SqliteSource
from beam_agents.embedded import EmbeddedBus
from beam_agents.intents import Keyring, Signer, build_intent, verify
from beam_agents.intents.signing import Verified
from beam_agents.intents.topics import type_header

_SECRET = "8f742231b10e8888abcd99yyyzzz85a5"
_KEYS = Keyring.parse(f"slack={base64.b64encode(bytes(range(32))).decode()}")
_PROGRAM = Path(__file__).parents[2] / "docs/examples/slack_approvals.py"


def _example() -> Any:
    spec = importlib.util.spec_from_file_location("slack_approvals", _PROGRAM)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


slack_approvals = _example()


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def request(args: dict[str, object] | None = None, *, open_for_ms: int = 60_000) -> ToolIntent:
    return build_intent(
        "payments.refund",
        args or {"amount": 420_000},
        entity_key=b"acct-1",
        kind=ToolIntent.APPROVAL,
        created_at_ms=now_ms() - 60_000,
        expires_at_ms=now_ms() + open_for_ms,
        summary="A <large> refund",
    )


class FakeSlack:
    """Takes messages at `chat.postMessage` and updates at response URLs."""

    def __init__(self) -> None:
        self.messages: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.updates: list[dict[str, Any]] = []
        self.tokens: list[str] = []
        self.app = web.Application()
        self.app.router.add_post("/api/chat.postMessage", self._post_message)
        self.app.router.add_post("/response", self._response)

    async def _post_message(self, called: web.Request) -> web.Response:
        self.tokens.append(called.headers["Authorization"])
        await self.messages.put(await called.json())
        return web.json_response({"ok": True, "channel": "C1", "ts": "1503435956.000247"})

    async def _response(self, called: web.Request) -> web.Response:
        self.updates.append(await called.json())
        return web.json_response({"ok": True})


class World:
    """The surface between a bus and a pretended Slack."""

    def __init__(self, bus: EmbeddedBus, slack: FakeSlack, response: URL, ours: URL) -> None:
        self.bus = bus
        self.slack = slack
        self._response_url = str(response)
        self._ours = ours / "interactions"

    def ask(self, asked: ToolIntent) -> str:
        value, header = asked.SerializeToString(), type_header(ToolIntent)
        self.bus.publish("approvals", key=asked.entity_key, value=value, headers=(header,))
        return asked.intent_id

    async def message(self) -> dict[str, Any]:
        return await asyncio.wait_for(self.slack.messages.get(), 30)

    async def click(
        self, intent_id: str, verdict: str, *, user: str = "UANN", **headers: str
    ) -> int:
        """Click a button, as Slack reports it; return the status that Slack gets."""
        payload = {
            "type": "block_actions",
            "user": {"id": user, "username": user.lower(), "team_id": "T1"},
            "container": {"type": "message", "channel_id": "C1", "is_ephemeral": False},
            "response_url": self._response_url,
            "actions": [
                {"type": "button", "action_id": verdict, "value": intent_id, "block_id": "b"}
            ],
        }
        body = urlencode({"payload": json.dumps(payload)}).encode()
        stamp = str(int(time.time()))
        mac = hmac.new(_SECRET.encode(), b"v0:%s:%s" % (stamp.encode(), body), hashlib.sha256)
        signed = {
            "X-Slack-Request-Timestamp": stamp,
            "X-Slack-Signature": f"v0={mac.hexdigest()}",
            "Content-Type": "application/x-www-form-urlencoded",
        }
        async with ClientSession() as client:
            answer = await client.post(self._ours, data=body, headers={**signed, **headers})
            return answer.status

    def decisions(self) -> list[AgentEnvelope]:
        header = type_header(AgentEnvelope)
        return [
            AgentEnvelope.FromString(each.value or b"")
            for each in self.bus.records("approvals")
            if header in each.headers
        ]


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    path, slack = str(tmp_path / "bus.db"), FakeSlack()
    async with TestServer(slack.app) as api:
        app = slack_approvals.Slack(
            channel="C1",
            approvers=frozenset({"UANN"}),
            token="xoxb-1",
            signing_secret=_SECRET,
            api=str(api.make_url("/api")),
        )
        desk = slack_approvals.Desk(tmp_path / "desk.db")
        source = SqliteSource(path, "approvals", group="slack")
        sink = SqliteSink(path, "approvals")
        signer = Signer(_KEYS, "slack")
        serving = slack_approvals.serving(app, desk, source, sink, signer)
        async with serving as ours, TestServer(ours) as server:
            with EmbeddedBus(path) as bus:
                yield World(bus, slack, api.make_url("/response"), server.make_url("/slack"))
        desk.close()


async def test_a_request_is_posted_with_its_exact_arguments_and_two_buttons(world: World) -> None:
    intent_id = world.ask(request({"amount": 420_000, "note": "```<!channel> \u202e"}))

    message = await world.message()

    assert message["channel"] == "C1"
    assert world.slack.tokens == ["Bearer xoxb-1"]
    *_, shown, buttons = message["blocks"]
    text = shown["elements"][0]["elements"][0]["text"]
    assert text == r'{"amount":420000,"note":"```<!channel> \u202e"}'
    assert [each["action_id"] for each in buttons["elements"]] == ["approve", "deny"]
    assert {each["value"] for each in buttons["elements"]} == {intent_id}


async def test_no_block_lets_a_stranger_s_text_be_formatted(world: World) -> None:
    world.ask(request())

    message = await world.message()

    assert "mrkdwn" not in json.dumps(message)


async def test_a_click_becomes_a_signed_decision_for_the_agent_that_asked(world: World) -> None:
    intent_id = world.ask(request())
    await world.message()

    assert await world.click(intent_id, "approve") == 200

    [decision] = world.decisions()
    assert decision.entity_key == b"acct-1"
    assert decision.approval.approved
    assert decision.approval.approver == "slack:UANN"
    assert verify(decision.approval, _KEYS) == Verified("slack")
    [update] = world.slack.updates
    assert update["replace_original"] is True
    assert "Approved by <@UANN>" in update["text"]


async def test_a_denial_tells_the_agent_why(world: World) -> None:
    intent_id = world.ask(request())
    await world.message()

    await world.click(intent_id, "deny")

    [decision] = world.decisions()
    assert not decision.approval.approved
    assert decision.approval.reason == "denied in Slack by UANN"


async def test_a_second_click_decides_nothing_more(world: World) -> None:
    intent_id = world.ask(request())
    await world.message()

    await asyncio.gather(world.click(intent_id, "approve"), world.click(intent_id, "approve"))
    await world.click(intent_id, "deny")

    assert [decision.approval.approved for decision in world.decisions()] == [True]
    assert all("Approved by" in update["text"] for update in world.slack.updates)


async def test_a_click_of_somebody_else_decides_nothing(world: World) -> None:
    intent_id = world.ask(request())
    await world.message()

    await world.click(intent_id, "approve", user="UEVE")

    assert world.decisions() == []
    [update] = world.slack.updates
    assert update["replace_original"] is False
    assert "may not decide" in update["text"]


@pytest.mark.parametrize(
    "headers",
    [
        {"X-Slack-Signature": "v0=" + "0" * 64},
        {"X-Slack-Signature": ""},
        {"X-Slack-Signature": "v0=é"},
        {"X-Slack-Request-Timestamp": str(int(time.time()) - 301)},
        {"X-Slack-Request-Timestamp": "soon"},
    ],
)
async def test_a_click_that_slack_did_not_sign_decides_nothing(
    world: World, headers: dict[str, str]
) -> None:
    intent_id = world.ask(request())
    await world.message()

    assert await world.click(intent_id, "approve", **headers) == 401

    assert world.decisions() == []


def test_slack_s_own_example_verifies() -> None:
    # https://api.slack.com/authentication/verifying-requests-from-slack
    body = (
        b"token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow"
        b"&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner"
        b"&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands"
        b"%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN"
        b"&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c"
    )
    headers = {
        "X-Slack-Request-Timestamp": "1531420618",
        "X-Slack-Signature": "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503",
    }

    assert slack_approvals.is_from_slack(headers, body, _SECRET, now_s=1531420618)
    assert not slack_approvals.is_from_slack(headers, body, _SECRET, now_s=1531420919)
    assert not slack_approvals.is_from_slack(headers, body + b"x", _SECRET, now_s=1531420618)


async def test_an_expired_request_is_not_decided(world: World) -> None:
    intent_id = world.ask(request(open_for_ms=0))
    await world.message()

    await world.click(intent_id, "approve")

    assert world.decisions() == []
    assert "has expired" in world.slack.updates[0]["text"]


async def test_an_unknown_request_is_not_decided(world: World) -> None:
    await world.click("no-such-request", "approve")

    assert world.decisions() == []
    assert "Nothing is known" in world.slack.updates[0]["text"]


async def test_arguments_too_long_to_be_shown_get_no_buttons(world: World) -> None:
    world.ask(request({"note": "x" * 5_000}))

    message = await world.message()

    assert "actions" not in [block["type"] for block in message["blocks"]]
    assert "beam-agents-effector approvals approve" in json.dumps(message)


async def test_a_repeated_request_is_posted_once(world: World) -> None:
    world.ask(request())
    world.ask(request())
    later = build_intent("payments.refund", {}, seq=1, kind=ToolIntent.APPROVAL, created_at_ms=1)
    world.ask(later)

    await world.message()
    second = await world.message()

    assert second["blocks"][-1]["elements"][0]["value"] == later.intent_id


async def test_records_that_are_no_requests_are_passed_over(world: World) -> None:
    world.bus.publish("approvals", key=b"k", value=b"\xff\xff")
    world.bus.publish("approvals", key=b"k", value=None)
    intent_id = world.ask(request())

    message = await world.message()

    assert message["blocks"][-1]["elements"][0]["value"] == intent_id
