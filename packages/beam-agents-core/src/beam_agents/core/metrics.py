"""Every metric of core, with its meaning. All are counters in one namespace."""

from __future__ import annotations

from enum import Enum

NAMESPACE = "beam_agents"


class Metric(Enum):
    """One counter; the value is its name in Beam."""

    ACTIVATIONS = "activations"  # fresh runs of the agent function
    RESUMES = "resumes"  # runs that went on after a wait, retries included
    COMPLETIONS = "completions"  # activations that ended by `Complete`
    SUSPENSIONS = "suspensions"  # runs that ended by `Suspend`
    INTENTS = "intents"  # intents emitted
    ERRORS = "errors"  # records emitted on `.errors`
    SUSPENSION_TIMEOUTS = "suspension_timeouts"  # waits ended by their deadline
    QUEUED_EVENTS = "queued_events"  # events that wait for a suspension to end
    DUPLICATE_EVENTS = "duplicate_events"  # dropped: their event_id was accepted before
    REPEATED_ANSWERS = "repeated_answers"  # dropped: byte-identical to an earlier one
    PARKED_ANSWERS = "parked_answers"  # kept: they came before their suspension
    UNAWAITED_ANSWERS = "unawaited_answers"  # OK, and nobody waits for them
    EXPIRED_AFTER_TIMEOUT = "expired_after_timeout"  # the timeout had said it
    OTHER_NAMESPACE = "other_namespace"  # dropped: another agent's answers
    IDLE_RETRIES = "idle_retries"  # retries of what is not held
    LOOP_STALLS = "loop_stalls"  # warnings of a loop that stood still: an agent blocks it
    TOMBSTONES = "tombstones"  # idle keys reduced to their seq

    __hash__ = object.__hash__  # as members are singletons; Enum's own costs four times as much
