"""`up NAME…`, `down [NAME…]`, `status [NAME…]`: real servers from packages, without containers."""

from __future__ import annotations

import argparse
import sys

from compose.local.lifecycle import Service
from compose.local.server import Unusable, known_names

ACTIONS = {"up": Service.up, "down": Service.down, "status": Service.status}


def main() -> None:
    parser = argparse.ArgumentParser(prog="compose/local", description=__doc__)
    actions = parser.add_subparsers(dest="action", required=True)
    for name in ACTIONS:
        action = actions.add_parser(name)
        action.add_argument("names", metavar="NAME", nargs="+" if name == "up" else "*")
    args = parser.parse_args()
    act = ACTIONS[args.action]
    try:
        for name in args.names or known_names():
            service = Service.named(name)
            print(f"{name}: {act(service)}", flush=True)
    except Unusable as reason:
        sys.exit(str(reason))


if __name__ == "__main__":
    main()
