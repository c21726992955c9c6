"""What may cut in on an intent while it is under way, without its having come to a result."""

from __future__ import annotations


class Interruption(Exception):
    """Root of them; none ever leaves the engine."""


class Withdrawn(Interruption):
    """The delivery is no longer ours, or the service stops: nothing new may begin for it."""


class DeadlinePassed(Interruption):
    """The intent's deadline came before its tool was called."""


class ClaimOver(Interruption):
    """The claim is lost, or about to end: whoever claims next decides."""


class NotYetKnown(Interruption):
    """This worker does not know the tool, or its present arguments; another may."""


class Abandoned(Interruption):
    """The service ends while the tool runs: the claim is left to its lease."""
