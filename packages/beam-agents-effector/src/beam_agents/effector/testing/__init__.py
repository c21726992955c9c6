"""Kits for those who test their tools, or a backend of their own, against the effector.

Loaded when they are asked for: only the contracts need pytest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from beam_agents.effector.dead_letters import DeadLetter as DeadLetter
    from beam_agents.effector.phase import Phase as Phase
    from beam_agents.effector.testing.browser_contract import BrowserContract as BrowserContract
    from beam_agents.effector.testing.harness import EffectorHarness as EffectorHarness
    from beam_agents.effector.testing.sink_contract import SinkContract as SinkContract
    from beam_agents.effector.testing.source_contract import SourceContract as SourceContract
    from beam_agents.effector.testing.store_contract import DedupStoreContract as DedupStoreContract
else:
    from beam_agents._front_door import lazy_exports

    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            "BrowserContract": "beam_agents.effector.testing.browser_contract",
            "DeadLetter": "beam_agents.effector.dead_letters",
            "DedupStoreContract": "beam_agents.effector.testing.store_contract",
            "EffectorHarness": "beam_agents.effector.testing.harness",
            "Phase": "beam_agents.effector.phase",
            "SinkContract": "beam_agents.effector.testing.sink_contract",
            "SourceContract": "beam_agents.effector.testing.source_contract",
        },
    )


__all__ = [
    "BrowserContract",
    "DeadLetter",
    "DedupStoreContract",
    "EffectorHarness",
    "Phase",
    "SinkContract",
    "SourceContract",
]
