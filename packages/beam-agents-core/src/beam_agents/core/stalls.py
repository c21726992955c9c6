"""Whether the activations' loop turns: an agent function that blocks stops all others.

Nothing on a loop that stands still can say so. The bundle's thread can, since it
only waits: it asks the loop for a sign of life, and tells when none comes.
"""

from __future__ import annotations

import sys
import threading
import time
from asyncio import AbstractEventLoop
from collections.abc import Iterator
from concurrent.futures import Future, wait
from dataclasses import dataclass
from traceback import extract_stack, format_list
from typing import Any

from beam_agents.core import own_context

PERIOD_S = 1.0
_FRAMES = 8


@dataclass(frozen=True, slots=True)
class Stall:
    """The loop stands still.

    Attributes:
        seconds: For how long, so far.
        stack: Where, as a traceback shows it, from the agent function inwards.
    """

    seconds: float
    stack: str


def stalls_until(
    done: Future[Any], loop: AbstractEventLoop, thread: threading.Thread
) -> Iterator[Stall]:
    """Wait for a future. Tell of a stall after one period, then two, four, and so on."""
    turned = threading.Event()
    turned.set()
    asked_s, missed = 0.0, 0
    while wait((done,), PERIOD_S).not_done:
        if turned.is_set():
            turned.clear()
            asked_s, missed = time.monotonic(), 0
            loop.call_soon_threadsafe(turned.set)
            continue
        missed += 1
        if missed & (missed - 1) == 0:
            yield Stall(time.monotonic() - asked_s, _stack_of(thread))


def _stack_of(thread: threading.Thread) -> str:
    stack = extract_stack(sys._current_frames().get(thread.ident or 0))
    entries = [at for at, each in enumerate(stack) if each.filename == own_context.__file__]
    within = stack[entries[-1] + 1 :] if entries else stack
    return "".join(format_list(within[-_FRAMES:]))
