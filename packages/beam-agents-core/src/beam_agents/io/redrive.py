"""From an error record to the envelope that has another try."""

from __future__ import annotations

from beam_agents._protos import ActivationErrorRecord, AgentEnvelope
from beam_agents.io.errors import NotRedrivable

# The resume is held with its answers, and waits for a `retry`.
_HELD = "resume_failed"


def redrive(record: ActivationErrorRecord, at_ms: int) -> AgentEnvelope:
    """Make an envelope of an error record: write it to a topic of envelopes.

    An event comes again as a new activation, with a new seq and new intents. A resume
    that failed is run again with the answers that it had. What was requested before
    it failed is never requested anew.

    Args:
        record: From `.errors`.
        at_ms: When it is to have happened, in unix milliseconds; mostly now.

    Raises:
        NotRedrivable: Nothing is left to be tried again, or it would ask twice.
    """
    envelope = AgentEnvelope()
    if record.reason == _HELD:
        envelope.retry.seq = record.seq
    elif record.requested_intent_ids:
        raise NotRedrivable(
            f"{record.reason!r} of seq {record.seq}: {len(record.requested_intent_ids)} effects "
            "were requested, and may have been performed; look at them, then send a new event"
        )
    elif record.envelope.WhichOneof("payload") is None:
        raise NotRedrivable(f"{record.reason!r}: the record holds no envelope ({record.detail})")
    else:
        envelope.CopyFrom(record.envelope)
    envelope.entity_key = record.entity_key or record.envelope.entity_key
    envelope.event_time_ms = at_ms
    envelope.ClearField("received_at_ms")
    return envelope
