from __future__ import annotations

import asyncio
import logging
import os
import signal
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from beam_agents.effector.commands import run as run_module
from beam_agents.effector.commands.run import Built, run
from beam_agents.effector.errors import BackendUnavailable, TopicMissing
from beam_agents.effector.ports import StoreUnavailable
from beam_agents.effector.preparation import Prepared
from beam_agents.embedded import EmbeddedBus
from beam_agents.tools import ToolRegistry

TOOLS = ToolRegistry()

GIVEN: dict[str, object] = {
    "registry": f"{__name__}:TOOLS",
    "intents_from": "sqlite:///bus.db?topic=intents",
    "results_to": "sqlite:///bus.db?topic=results",
    "dedup": "memory://",
}


class FakeService:
    """Does in `run` what a test says; counts what it was told."""

    def __init__(
        self,
        *,
        fails_with: Exception | None = None,
        signals: int = 0,
        signal: int = signal.SIGTERM,
    ) -> None:
        self.stops = 0
        self.running_tools = 0
        self._fails_with = fails_with
        self._signals = signals
        self._signal = signal
        self._stopped = asyncio.Event()

    async def run(self) -> None:
        if self._fails_with is not None:
            raise self._fails_with
        for count in range(1, self._signals + 1):
            os.kill(os.getpid(), self._signal)
            while self.stops < count:
                await self._stopped.wait()
                self._stopped.clear()

    def stop(self) -> None:
        self.stops += 1
        self._stopped.set()


class Left(BaseException):
    """Stands for the end of the process."""


@pytest.fixture(autouse=True)
def _restored_logging() -> Iterator[None]:
    handlers, level = logging.root.handlers[:], logging.root.level
    yield
    logging.root.handlers[:], logging.root.level = handlers, level
    logging.getLogger("aiokafka").setLevel(logging.NOTSET)


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Any:
    def with_service(**behaviour: Any) -> tuple[int, FakeService]:
        services: list[FakeService] = []

        def build(_: Prepared) -> Built:
            services.append(FakeService(**behaviour))
            return Built(services[0])  # type: ignore[arg-type]

        monkeypatch.setattr(run_module, "build_service", build)
        return run(GIVEN), services[0]

    return with_service


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_stops_the_service_and_the_exit_code_is_0(serve: Any, number: int) -> None:
    code, service = serve(signals=1, signal=number)

    assert (code, service.stops) == (0, 1)


def test_a_hangup_that_the_shell_ignores_stays_ignored(serve: Any) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as `nohup` does
    try:
        serve()
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_second_signal_leaves_at_once(serve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    left_with: list[int] = []

    def leave(code: int) -> None:
        left_with.append(code)
        raise Left

    monkeypatch.setattr(os, "_exit", leave)
    monkeypatch.setattr(logging, "shutdown", lambda: None)

    with pytest.raises(Left):
        serve(signals=2)

    assert left_with == [128 + signal.SIGTERM]


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (BackendUnavailable("no Kafka broker lets us in: b:9092: connection refused"), 1),
        (StoreUnavailable("redis://b:6379 does not answer"), 1),
        (TopicMissing("the topic 'intents' does not exist"), 2),
    ],
)
def test_a_server_that_cannot_be_used_is_one_line(
    serve: Any, capsys: pytest.CaptureFixture[str], error: Exception, code: int
) -> None:
    exit_code, _ = serve(fails_with=error)

    assert exit_code == code
    *_, last = capsys.readouterr().err.splitlines()
    assert last == f"beam-agents-effector: {error}"


def test_what_breaks_the_service_is_logged_with_its_traceback(
    serve: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _ = serve(fails_with=RuntimeError("a lane died"))

    output = capsys.readouterr().err
    assert code == 1
    assert "Traceback" in output
    assert output.endswith("RuntimeError: a lane died\n")


def test_a_store_in_memory_is_warned_of(serve: Any, capsys: pytest.CaptureFixture[str]) -> None:
    serve()

    assert "the dedup store is in memory" in capsys.readouterr().err


def test_a_store_that_shares_a_file_with_a_topic_is_warned_of(
    serve: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(GIVEN, "dedup", "sqlite:///bus.db")

    serve()

    assert "bus.db' with a topic, and each waits for the other's writes" in capsys.readouterr().err


def test_a_refused_tool_that_is_not_there_is_warned_of_at_the_start(
    serve: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(GIVEN, "refuse_tools", "chrge")

    serve()

    assert "--refuse-tools: no tool here is called 'chrge'" in capsys.readouterr().err


def test_traces_are_sent_to_the_collector_that_the_environment_names(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    received: list[str] = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            received.append(self.path)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    monkeypatch.chdir(tmp_path)
    bus = EmbeddedBus("bus.db")
    bus.publish("intents", key=b"k", value=b"no intent")
    with HTTPServer(("127.0.0.1", 0), Collector) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        endpoint = f"http://127.0.0.1:{server.server_port}"
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint)
        threading.Thread(target=_stop_once_committed, args=(bus,), daemon=True).start()
        assert run({**GIVEN, "otel": True}) == 0
        server.shutdown()

    assert received == ["/v1/traces"]


def _stop_once_committed(bus: EmbeddedBus) -> None:
    while bus.committed("beam-agents-effector", "intents") < 1:
        time.sleep(0.02)
    os.kill(os.getpid(), signal.SIGTERM)
