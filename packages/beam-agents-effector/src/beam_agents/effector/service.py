"""One worker: fetches intents, runs them through the phases in lanes, and shuts down in order."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from beam_agents.effector.clock import SystemClock
from beam_agents.effector.config import EffectorOptions
from beam_agents.effector.ports import Clock, DedupStore, Sink, Source

if TYPE_CHECKING:
    from beam_agents.intents.keyring import Keyring
    from beam_agents.intents.signing import Signer
    from beam_agents.tools import ToolRegistry


class EffectorService:
    """Performs the intents of one source, until it is stopped.

    Args:
        registry: The tools.
        source: Where intents come from.
        results: Where terminal results go.
        store: Agrees on one claim and one result per intent.
        options: See `EffectorOptions`.
        approvals: Where approval requests go; without it they are rejected.
        dead_letters: Where records go that cannot be handled; without it they are logged.
        intent_keys: Verify intents, as `options.verify_intents` says.
        approval_keys: Verify approval grants.
        signer: Signs results; without it they go out unsigned.
        refused_tools: Names the tools not to run now; asked before each run.
        clock: Time.
    """

    def __init__(
        self,
        *,
        registry: ToolRegistry,
        source: Source,
        results: Sink,
        store: DedupStore,
        options: EffectorOptions | None = None,
        approvals: Sink | None = None,
        dead_letters: Sink | None = None,
        intent_keys: Keyring | None = None,
        approval_keys: Keyring | None = None,
        signer: Signer | None = None,
        refused_tools: Callable[[], Collection[str]] = tuple,
        clock: Clock | None = None,
    ) -> None:
        self._options = options or EffectorOptions()
        self._clock = clock or SystemClock()

    async def run(self) -> None:
        """Open every port, work until `stop`, and close them again.

        Raises:
            EffectorError: What the operator must mend.
            Exception: Whatever broke a part of the service: it never goes on without a part.
        """
        raise NotImplementedError

    def stop(self) -> None:
        """Ask `run` to end: gracefully at the first call, at once at the second."""
        raise NotImplementedError
