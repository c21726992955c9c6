"""Reading and writing topics, and the local runner on which agents live."""

from beam_agents.io.agent_loop import AgentLoop, LoopOutputs
from beam_agents.io.envelopes import (
    DecisionsToEnvelopes,
    Envelopes,
    EnvelopesToEnvelopes,
    EventsToEnvelopes,
    ResultsToEnvelopes,
)
from beam_agents.io.errors import NotRedrivable, StateFileError, TopicUnavailable
from beam_agents.io.live import LocalLoopResult, LocalLoopRunner
from beam_agents.io.read import ReadDecisions, ReadEnvelopes, ReadEvents, ReadResults
from beam_agents.io.records import InboundRecord, OutboundRecord
from beam_agents.io.redrive import redrive
from beam_agents.io.write import (
    IntentsToRecords,
    WriteCompletions,
    WriteEnvelopes,
    WriteErrors,
    WriteIntents,
    WriteRecords,
)
from beam_agents.kafka import KafkaSecurity

__all__ = [
    "AgentLoop",
    "DecisionsToEnvelopes",
    "Envelopes",
    "EnvelopesToEnvelopes",
    "EventsToEnvelopes",
    "InboundRecord",
    "IntentsToRecords",
    "KafkaSecurity",
    "LocalLoopResult",
    "LocalLoopRunner",
    "LoopOutputs",
    "NotRedrivable",
    "OutboundRecord",
    "ReadDecisions",
    "ReadEnvelopes",
    "ReadEvents",
    "ReadResults",
    "ResultsToEnvelopes",
    "StateFileError",
    "TopicUnavailable",
    "WriteCompletions",
    "WriteEnvelopes",
    "WriteErrors",
    "WriteIntents",
    "WriteRecords",
    "redrive",
]
