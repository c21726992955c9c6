"""Puts the parts of a service together; nothing here decides anything."""

from __future__ import annotations

from collections.abc import Callable, Collection, Coroutine
from dataclasses import dataclass
from functools import partial
from typing import Any

from beam_agents.effector.alarms import Alarms
from beam_agents.effector.approvals import Approvals
from beam_agents.effector.calls import ToolCalls
from beam_agents.effector.claiming import Claiming
from beam_agents.effector.claims import Leases
from beam_agents.effector.commits import Commits
from beam_agents.effector.completion import Completion
from beam_agents.effector.config import EffectorOptions
from beam_agents.effector.course import Course
from beam_agents.effector.dead_letters import DeadLetters
from beam_agents.effector.endings import Endings
from beam_agents.effector.execution import Execution
from beam_agents.effector.grants import Grants
from beam_agents.effector.partitions import Partitions
from beam_agents.effector.permits import ToolPermits
from beam_agents.effector.phases import Phases
from beam_agents.effector.ports import Clock, DedupStore, Sink, Source
from beam_agents.effector.probe import Probe
from beam_agents.effector.publishing import Publisher, ResultsTopic
from beam_agents.effector.refusals import Refusals
from beam_agents.effector.results import Results
from beam_agents.effector.screening import Screening
from beam_agents.effector.takeovers import Takeovers
from beam_agents.effector.threads import Threads
from beam_agents.effector.verification import Verification
from beam_agents.effector.watched_phases import WatchedPhases
from beam_agents.intents.keyring import Keyring
from beam_agents.intents.signing import Signer
from beam_agents.tools import ToolRegistry


@dataclass(frozen=True, slots=True)
class Ports:
    """What a service works on; see the arguments of `EffectorService`."""

    registry: ToolRegistry
    source: Source
    results: Sink
    store: DedupStore
    approvals: Sink | None
    dead_letters: Sink | None
    intent_keys: Keyring | None
    approval_keys: Keyring | None
    signer: Signer | None
    refused_tools: Callable[[], Collection[str]]
    clock: Clock
    probe: Probe

    @property
    def sinks(self) -> list[Sink]:
        """All topics that are written to."""
        return [s for s in (self.results, self.approvals, self.dead_letters) if s is not None]


class Engine:
    """The parts of one service that it starts, stops or asks.

    Args:
        ports: What it works on.
        options: How.
        start: Starts a task of the service.
    """

    def __init__(
        self,
        ports: Ports,
        options: EffectorOptions,
        start: Callable[[Coroutine[Any, Any, None]], object],
    ) -> None:
        self.alarms = Alarms(ports.clock)
        self.partitions = Partitions(
            ports.source.pause,
            ports.source.resume,
            max_waiting=options.max_waiting,
            max_uncommitted=options.max_uncommitted,
        )
        self.commits = Commits(
            ports.source,
            self.partitions,
            ports.clock,
            ports.probe,
            interval_ms=options.commit_interval_ms,
        )
        self.leases = Leases(
            ports.store,
            ports.clock,
            self.alarms,
            start,
            lease_ms=options.lease_ms,
            renewing=not options.no_lease_renewal,
        )
        self.threads = Threads(options.sync_threads)
        self.calls = ToolCalls(self.threads, self.alarms)
        self.publishers: list[Publisher] = []
        self._build_course(ports, options)

    def _build_course(self, ports: Ports, options: EffectorOptions) -> None:
        results = Results(ports.signer)
        publisher = Publisher("results", ports.results, ports.clock)
        self.publishers.append(publisher)
        topic = ResultsTopic(publisher, results)
        refusals = Refusals(
            store=ports.store,
            results=results,
            topic=topic,
            alarms=self.alarms,
            clock=ports.clock,
            call_timeout_ms=options.store_call_timeout_ms,
        )
        screening = Screening(
            ports.registry,
            refused_tools=ports.refused_tools,
            wait_for_unknown=options.unknown_tool == "wait",
        )
        nobody_looks = type(ports.probe) is Probe
        make_phases = Phases if nobody_looks else partial(WatchedPhases, ports.probe)
        self.phases = make_phases(
            verification=Verification(options.verify_intents, ports.intent_keys, ports.probe),
            refusals=refusals,
            claiming=Claiming(
                ports.store, self.leases, refusals, ports.clock, lease_ms=options.lease_ms
            ),
            execution=self._execution(ports, options, screening),
            completion=Completion(ports.store, refusals, self.alarms, lease_ms=options.lease_ms),
            topic=topic,
            commits=self.commits,
        )
        self.course = Course(
            phases=self.phases,
            dead_letters=DeadLetters(
                self._publisher("dead-letters", ports.dead_letters, ports), ports.probe
            ),
            screening=screening,
            permits=ToolPermits(options.max_in_flight),
            partitions=self.partitions,
            leases=self.leases,
            results=results,
            alarms=self.alarms,
            clock=ports.clock,
        )

    def _execution(self, ports: Ports, options: EffectorOptions, screening: Screening) -> Execution:
        endings = Endings(
            max_result_bytes=options.max_result_bytes, type_only=options.error_detail == "type"
        )
        approvals = self._publisher("approvals", ports.approvals, ports)
        return Execution(
            screening=screening,
            grants=Grants(ports.store, ports.clock, ports.approval_keys),
            takeovers=Takeovers(self.calls, endings),
            approvals=Approvals(approvals, ports.store, lease_ms=options.lease_ms),
            calls=self.calls,
            endings=endings,
            store=ports.store,
            alarms=self.alarms,
            clock=ports.clock,
            probe=ports.probe,
            tool_timeout_ms=options.tool_timeout_ms,
        )

    def _publisher(self, name: str, sink: Sink | None, ports: Ports) -> Publisher | None:
        if sink is None:
            return None
        publisher = Publisher(name, sink, ports.clock)
        self.publishers.append(publisher)
        return publisher
