"""One log of a live loop: where it is read next, and how far its time has moved."""

from __future__ import annotations

from beam_agents.io.batches import Progress
from beam_agents.io.logs import LogReader, Look
from beam_agents.io.watermarks import watermark_after


class LogFeed:
    """A reader, its position and its watermark."""

    def __init__(
        self, reader: LogReader, *, next_offset: int, watermark_ms: int, idle_after_ms: int
    ) -> None:
        self.log_id = reader.log_id
        self._reader = reader
        self._progress = Progress(next_offset, watermark_ms)
        self._idle_after_ms = idle_after_ms

    @property
    def next_offset(self) -> int:
        """Where it is read next."""
        return self._progress.next_offset

    @property
    def watermark_ms(self) -> int:
        """Up to when nothing more is expected of it."""
        return self._progress.watermark_ms

    def has_more(self) -> bool:
        """Whether there is something to read, as far as is known."""
        return self._reader.has_more(self.next_offset)

    def look(self, limit: int, now_ms: int) -> tuple[Look, Progress]:
        """Read what comes next; say how far we are once that is processed."""
        look = self._reader.look(self.next_offset, limit, now_ms)
        watermark_ms = watermark_after(
            look, self.watermark_ms, now_ms=now_ms, idle_after_ms=self._idle_after_ms
        )
        return look, Progress(look.next_offset, watermark_ms)

    def go_on(self, progress: Progress) -> None:
        """Read on from there."""
        self._progress = progress

    def commit(self) -> None:
        """Tell the group that all before the position is processed."""
        self._reader.commit(self.next_offset)

    def close(self) -> None:
        """Close the reader."""
        self._reader.close()
