"""Keeps Python's garbage collector from walking what is in flight again and again."""

from __future__ import annotations

import gc

# How many objects more make it look at the young ones; the default is 700.
_YOUNG = 20_000


def collect_seldom() -> None:
    """Let the collector rest, in a process of the effector's own, once all is imported.

    It only finds cycles, and an intent leaves none behind: what there is comes from
    tools. With 10,000 tools asleep it took a third of the CPU time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG)
