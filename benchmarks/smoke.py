"""Every benchmark at a small size, with gates of half the rate and twice the time or memory.

So CI notices what has become much slower, on whatever machine it has. A case that needs
Kafka or Redis is missed where BEAM_AGENTS_TEST_KAFKA or BEAM_AGENTS_TEST_REDIS is absent.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

CASES = (
    "tools_canonical_json.py",
    "tools_invocation.py",
    "effector_rate.py --number 2000 --rounds 4",
    "effector_redis.py --number 2000 --rounds 3",
    "effector_lanes.py --each 10 --rounds 1",
    "effector_asleep.py --number 4000",
    "effector_latency.py --seconds 2",
    "effector_takeover.py --rounds 1",
)


def missed(case: str) -> bool:
    script, *arguments = case.split()
    began_s = time.monotonic()
    path = Path(__file__).with_name(script)
    ended = subprocess.run([sys.executable, str(path), "--smoke", *arguments], check=False)
    print(f"{case}: {time.monotonic() - began_s:.0f} s", flush=True)
    return ended.returncode != 0


def main() -> None:
    began_s = time.monotonic()
    all_missed = [case for case in CASES if missed(case)]
    print(f"all of it took {time.monotonic() - began_s:.0f} s")
    if all_missed:
        sys.exit("MISSED: " + "; ".join(all_missed))


if __name__ == "__main__":
    main()
