"""The offsets of a partition as a splittable step claims them: all there will ever be."""

from __future__ import annotations

import sys
from typing import Any, TypeAlias

from apache_beam.io.restriction_trackers import OffsetRange, OffsetRestrictionTracker
from apache_beam.transforms.core import RestrictionProvider

# A partition, and the offset at which a pipeline without a checkpoint begins.
Split: TypeAlias = tuple[int, int]


class Claims(OffsetRestrictionTracker):
    """Claims offsets one by one; can be checkpointed, but not split further."""

    def try_split(self, fraction_of_remainder: float) -> Any:
        """Refuse to give away offsets that nobody has written yet."""
        if fraction_of_remainder != 0:
            return None
        return super().try_split(fraction_of_remainder)  # type: ignore[no-untyped-call]

    def is_bounded(self) -> bool:
        """Say that there is no end."""
        return False


class FromFirstOffset(RestrictionProvider):
    """A split is read from its first offset on."""

    def initial_restriction(self, split: Split) -> OffsetRange:
        """Return all there will ever be."""
        return OffsetRange(split[1], sys.maxsize)

    def create_tracker(self, restriction: OffsetRange) -> Claims:
        """Track the offsets that were claimed."""
        return Claims(restriction)

    def restriction_size(self, split: Split, restriction: OffsetRange) -> int:
        """Weigh every partition alike."""
        return 1

    def truncate(self, split: Split, restriction: OffsetRange) -> None:
        """End at a drain."""
