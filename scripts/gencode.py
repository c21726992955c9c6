"""Generate the wire's Python modules from `protos/` into `beam_agents._protos`.

Run it by `make protos`, which gives it grpcio-tools in an environment of its
own: the generator cannot share one with Beam. Generated modules name their
siblings as `beam_agents.v1.*`; two rewrites move them to where they are
installed. Both are needed: without the first the imports fail, without the
second the classes carry a module name that does not exist, and cannot be pickled.
"""

from __future__ import annotations

import argparse
import filecmp
import re
import shutil
import sys
import tempfile
from importlib import resources
from pathlib import Path

from grpc_tools import protoc

ROOT = Path(__file__).resolve().parent.parent
PROTOS = ROOT / "protos"
TARGET = ROOT / "packages/beam-agents-tools/src/beam_agents/_protos"
WIRE_PACKAGE = "beam_agents.v1"
IMPORT_PACKAGE = "beam_agents._protos"


def generate(target: Path) -> None:
    """Write one `_pb2.py` and `_pb2.pyi` for each proto file into `target`."""
    well_known = resources.files("grpc_tools") / "_proto"
    with tempfile.TemporaryDirectory() as scratch:
        sources = sorted(str(path) for path in PROTOS.rglob("*.proto"))
        status = protoc.main(
            [
                "protoc",
                f"--proto_path={PROTOS}",
                f"--proto_path={well_known}",
                f"--python_out={scratch}",
                f"--pyi_out={scratch}",
                *sources,
            ]
        )
        if status != 0:
            sys.exit(f"protoc failed with status {status}")
        for made in sorted(Path(scratch, *WIRE_PACKAGE.split(".")).iterdir()):
            (target / made.name).write_text(_relocated(made.read_text()))


def _relocated(code: str) -> str:
    code = code.replace(f"from {WIRE_PACKAGE} import", f"from {IMPORT_PACKAGE} import")
    return re.sub(rf"'{re.escape(WIRE_PACKAGE)}\.(\w+_pb2)'", rf"'{IMPORT_PACKAGE}.\1'", code)


def differences(fresh: Path) -> list[str]:
    """Name the generated files that differ from those committed."""
    names = {path.name for path in [*fresh.glob("*_pb2.py*"), *TARGET.glob("*_pb2.py*")]}
    _, changed, missing = filecmp.cmpfiles(fresh, TARGET, sorted(names), shallow=False)
    return changed + missing


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="only compare; exit 1 on a difference")
    check = parser.parse_args().check
    with tempfile.TemporaryDirectory() as scratch:
        fresh = Path(scratch)
        generate(fresh)
        if check:
            if stale := differences(fresh):
                sys.exit(f"generated code is stale, run `make protos`: {', '.join(stale)}")
            print("generated code is up to date")
            return
        for old in TARGET.glob("*_pb2.py*"):
            old.unlink()
        for made in fresh.iterdir():
            shutil.copy(made, TARGET / made.name)
            print(f"wrote {(TARGET / made.name).relative_to(ROOT)}")


if __name__ == "__main__":
    main()
