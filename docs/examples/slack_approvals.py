"""Approvals in Slack: each request is a message with its exact arguments and two buttons.

The service reads the approvals topic that effectors write to, posts a message for each
request, and turns a click into a decision for the agent that asked, signed with the key
of this surface. What it does not know, cannot show or cannot verify it does not approve:

- a click counts only with Slack's signature, no older than five minutes, and from an
  approver that is listed;
- a request that has expired is not decided any more;
- arguments too long to be shown whole get no buttons;
- a second click finds the decision made; were it made twice, it would be one grant.

    SLACK_BOT_TOKEN=xoxb-… SLACK_SIGNING_SECRET=… APPROVAL_KEYS=… \\
    python slack_approvals.py --requests kafka://broker:9092/approvals --channel C0123 \\
        --approvers U0A,U0B --keys env:APPROVAL_KEYS --sign-with slack --listen 127.0.0.1:8080

Point the app's interactivity request URL at `/slack/interactions`. In Slack's words:
https://api.slack.com/authentication/verifying-requests-from-slack,
https://api.slack.com/interactivity/handling, https://api.slack.com/reference/block-kit/blocks.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import hmac
import json
import logging
import os
import sqlite3
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiohttp import ClientSession, web
from google.protobuf.message import DecodeError

from beam_agents._protos import AgentEnvelope, ToolIntent
from beam_agents.effector.ports import Delivery, Sink, Source
from beam_agents.effector.printable import printable, printable_key
from beam_agents.effector.schemes import Connections, open_sink, open_source
from beam_agents.intents import DecisionError, Keyring, Signer, build_decision, verify
from beam_agents.intents.signing import Verified
from beam_agents.intents.topics import declared_type, type_header

_LOG = logging.getLogger("slack_approvals")

# Slack: "if the request timestamp is more than five minutes from local time, ignore it".
OLDEST_CLICK_S = 300
# Slack cuts or refuses longer texts; a person must not approve what they did not see.
LONGEST_TEXT = 2_800


def now_ms() -> int:
    return time.time_ns() // 1_000_000


# region: messages
def message(channel: str, request: ToolIntent) -> dict[str, Any]:
    """Show a request: the arguments to the letter, in a block that Slack does not format."""
    arguments = printable(request.args_json)
    facts = {
        "Tool": printable(request.tool_name),
        "Key": printable_key(request.entity_key),
        "Why": printable(request.summary) or "no summary",
        "Until": time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(request.expires_at_ms // 1000)),
    }
    blocks: list[dict[str, Any]] = [
        {"type": "header", "text": _plain("An agent asks for an approval")},
        {"type": "section", "fields": [_plain(f"{name}: {text}") for name, text in facts.items()]},
    ]
    if len(arguments) > LONGEST_TEXT or any(len(text) > 1_900 for text in facts.values()):
        blocks.append({"type": "section", "text": _plain(_TOO_LONG.format(request.intent_id))})
    else:
        blocks += [_preformatted(arguments), _buttons(request.intent_id)]
    return {"channel": channel, "text": "An agent asks for an approval", "blocks": blocks}


_TOO_LONG = (
    "It is too long to be shown here. Decide on the command line: "
    "beam-agents-effector approvals approve {}"
)


def _plain(text: str) -> dict[str, Any]:
    return {"type": "plain_text", "text": text, "emoji": False}


def _preformatted(text: str) -> dict[str, Any]:
    elements = [{"type": "text", "text": text}]
    return {
        "type": "rich_text",
        "elements": [{"type": "rich_text_preformatted", "elements": elements}],
    }


def _buttons(intent_id: str) -> dict[str, Any]:
    def button(verdict: str, style: str) -> dict[str, Any]:
        text = _plain(verdict.capitalize())
        return {
            "type": "button",
            "action_id": verdict,
            "value": intent_id,
            "style": style,
            "text": text,
        }

    return {"type": "actions", "elements": [button("approve", "primary"), button("deny", "danger")]}


# endregion: messages


def is_from_slack(headers: Mapping[str, str], body: bytes, secret: str, *, now_s: float) -> bool:
    """Check the signature that Slack puts on what it sends, and its age."""
    timestamp = headers.get("X-Slack-Request-Timestamp", "")
    if not timestamp.isdecimal() or abs(now_s - int(timestamp)) > OLDEST_CLICK_S:
        return False
    signed = b"v0:" + timestamp.encode() + b":" + body
    expected = "v0=" + hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()
    given = headers.get("X-Slack-Signature", "")
    return hmac.compare_digest(expected.encode(), given.encode())


class Desk:
    """The requests that were posted, on disk: clicks come after restarts, too."""

    def __init__(self, path: str | Path) -> None:
        self._db = sqlite3.connect(path, isolation_level=None)
        self._db.execute(
            "CREATE TABLE IF NOT EXISTS requests (id TEXT PRIMARY KEY, intent BLOB, verdict TEXT)"
        )

    def knows(self, intent_id: str) -> bool:
        return self._row(intent_id) is not None

    def keep(self, request: ToolIntent) -> None:
        row = (request.intent_id, request.SerializeToString())
        self._db.execute("INSERT OR IGNORE INTO requests (id, intent) VALUES (?, ?)", row)

    def request(self, intent_id: str) -> ToolIntent | None:
        row = self._row(intent_id)
        return None if row is None else ToolIntent.FromString(row[0])

    def verdict(self, intent_id: str) -> str | None:
        row = self._row(intent_id)
        return None if row is None else row[1]

    def decide(self, intent_id: str, verdict: str) -> None:
        self._db.execute("UPDATE requests SET verdict = ? WHERE id = ?", (verdict, intent_id))

    def close(self) -> None:
        self._db.close()

    def _row(self, intent_id: str) -> tuple[bytes, str | None] | None:
        query = "SELECT intent, verdict FROM requests WHERE id = ?"
        row: tuple[bytes, str | None] | None = self._db.execute(query, (intent_id,)).fetchone()
        return row


@dataclass(frozen=True)
class Slack:
    """Where to post, whose clicks count, whose requests are shown, and the app's secrets."""

    channel: str
    approvers: frozenset[str]
    token: str
    signing_secret: str
    intent_keys: Keyring | None = None
    api: str = "https://slack.com/api"


class Surface:
    """Posts requests, and publishes what people decide."""

    def __init__(
        self, slack: Slack, desk: Desk, decisions: Sink, signer: Signer, http: ClientSession
    ) -> None:
        self._slack = slack
        self._desk = desk
        self._decisions = decisions
        self._signer = signer
        self._http = http
        self._one_at_a_time = asyncio.Lock()

    async def post_requests(self, source: Source) -> None:
        """Post what agents ask for, until cancelled; a record is done once Slack has it."""
        while True:
            for delivery in await source.fetch():
                request = _request(delivery)
                if request is not None and self._is_new(request):
                    await self._post(request)
                    self._desk.keep(request)
                source.done(delivery)
            await source.commit()

    def _is_new(self, request: ToolIntent) -> bool:
        if self._slack.intent_keys is not None:
            verified = verify(request, self._slack.intent_keys)
            if not isinstance(verified, Verified):
                _LOG.warning("not posted, since it does not verify: %r", request.intent_id)
                return False
        return not self._desk.knows(request.intent_id)

    async def on_click(self, click: web.Request) -> web.Response:
        """Answer Slack's interaction request."""
        body = await click.read()
        if not is_from_slack(
            click.headers, body, self._slack.signing_secret, now_s=now_ms() / 1000
        ):
            return web.Response(status=401)
        payload = json.loads(str((await click.post())["payload"]))
        if payload.get("type") != "block_actions":
            return web.Response()
        action, user = payload["actions"][0], payload["user"]
        async with self._one_at_a_time:
            told = await self._decide(action["value"], action["action_id"], user)
        await self._tell(payload["response_url"], told, replace=user["id"] in self._slack.approvers)
        return web.Response()

    async def _decide(self, intent_id: str, verdict: str, user: Mapping[str, str]) -> str:
        if user["id"] not in self._slack.approvers:
            return f"<@{user['id']}> may not decide this."
        request = self._desk.request(intent_id)
        if request is None or verdict not in ("approve", "deny"):
            return "Nothing is known of this request."
        if (before := self._desk.verdict(intent_id)) is not None:
            return before
        try:
            decision = build_decision(
                request,
                approved=verdict == "approve",
                approver=f"slack:{user['id']}",
                decided_at_ms=now_ms(),
                reason="" if verdict == "approve" else f"denied in Slack by {user['id']}",
                signer=self._signer,
            )
        except DecisionError:
            return "The request has expired; nothing was decided."
        await self._decisions.publish(
            key=decision.entity_key,
            value=decision.SerializeToString(deterministic=True),
            headers=(type_header(AgentEnvelope),),
        )
        done = "Approved" if verdict == "approve" else "Denied"
        self._desk.decide(intent_id, f"{done} by <@{user['id']}>: `{intent_id}`")
        return self._desk.verdict(intent_id) or done

    async def _post(self, request: ToolIntent) -> None:
        headers = {"Authorization": f"Bearer {self._slack.token}"}
        answer = await self._http.post(
            f"{self._slack.api}/chat.postMessage",
            json=message(self._slack.channel, request),
            headers=headers,
        )
        told = await answer.json()
        if not told.get("ok"):
            raise RuntimeError(f"Slack does not take the message: {told.get('error')}")

    async def _tell(self, response_url: str, text: str, *, replace: bool) -> None:
        answer = {"text": text, "replace_original": replace, "response_type": "ephemeral"}
        with suppress(OSError):  # the decision stands, whatever becomes of the message
            await self._http.post(response_url, json=answer)


def _request(delivery: Delivery) -> ToolIntent | None:
    """Read an approval request; None for the decisions that may share its topic."""
    if not delivery.value or declared_type(delivery.headers) not in (None, "ToolIntent"):
        return None
    try:
        request = ToolIntent.FromString(delivery.value)
    except DecodeError:
        return None
    return request if request.kind == ToolIntent.APPROVAL else None


@asynccontextmanager
async def serving(
    slack: Slack, desk: Desk, source: Source, decisions: Sink, signer: Signer
) -> AsyncIterator[web.Application]:
    """Post requests in the background, and give the application that takes clicks."""
    async with ClientSession(raise_for_status=True) as http:
        await source.open(lambda lost: None)
        await decisions.open()
        surface = Surface(slack, desk, decisions, signer, http)
        posting = asyncio.ensure_future(surface.post_requests(source))
        posting.add_done_callback(_stop_loudly)
        app = web.Application()
        app.router.add_post("/slack/interactions", surface.on_click)
        try:
            yield app
        finally:
            posting.cancel()
            await asyncio.gather(posting, return_exceptions=True)
            await source.aclose()
            await decisions.aclose()


def _stop_loudly(posting: asyncio.Future[None]) -> None:
    if not posting.cancelled() and posting.exception() is not None:
        _LOG.critical("requests are not posted any more", exc_info=posting.exception())
        os._exit(1)  # whoever supervises us starts us again, at the record that failed


async def serve(args: argparse.Namespace) -> None:
    connections = Connections(consumer_group="slack-approvals", result_ttl_ms=1)
    source = open_source(args.requests, connections)
    decisions = open_sink(args.decisions or args.requests, connections)
    slack = Slack(
        args.channel,
        frozenset(args.approvers.split(",")),
        os.environ["SLACK_BOT_TOKEN"],
        os.environ["SLACK_SIGNING_SECRET"],
        None if args.intent_keys is None else Keyring.load(args.intent_keys),
    )
    host, _, port = args.listen.rpartition(":")
    signer = Signer(args.keys, args.sign_with)
    async with serving(slack, Desk(args.desk), source, decisions, signer) as app:
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, host, int(port)).start()
        await asyncio.Event().wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--requests", required=True, help="URI of the approvals topic")
    parser.add_argument("--decisions", help="URI of the decisions topic, if it is another")
    parser.add_argument("--intent-keys", help="keyring of the agents: shows only what it verifies")
    parser.add_argument("--channel", required=True, help="id of the Slack channel")
    parser.add_argument("--approvers", required=True, help="Slack user ids, by commas")
    parser.add_argument("--keys", required=True, help="keyring: env:VAR or file:PATH")
    parser.add_argument("--sign-with", required=True, help="key id of this surface")
    parser.add_argument("--listen", default="127.0.0.1:8080", help="HOST:PORT for Slack's clicks")
    parser.add_argument("--desk", default="slack-approvals.db", help="file of posted requests")
    logging.basicConfig(level="INFO")
    asyncio.run(serve(parser.parse_args()))


if __name__ == "__main__":
    main()
