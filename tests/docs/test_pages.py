"""Every Python fence of every page runs, top to bottom, in one namespace a page."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", *ROOT.glob("packages/*/README.md"), *ROOT.glob("docs/**/*.md")])
FENCE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)[^)]*\)")


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def program(page: Path) -> str:
    """The page's fences as one program, each at its own line, so that a traceback points at it."""
    text = page.read_text()
    lines: list[str] = []
    for fence in FENCE.finditer(text):
        start = text.count("\n", 0, fence.start(1))
        lines += [""] * (start - len(lines)) + fence.group(1).splitlines()
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("page", [p for p in PAGES if FENCE.search(p.read_text())], ids=name_of)
def test_the_fences_of_a_page_run(page: Path, tmp_path: Path) -> None:
    script = tmp_path / "page.py"
    script.write_text(program(page))

    done = subprocess.run(
        [sys.executable, str(script)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_the_links_of_a_page_lead_somewhere(page: Path) -> None:
    targets = [t for t in LINK.findall(page.read_text()) if "://" not in t and ":" not in t]

    assert [t for t in targets if not (page.parent / t).exists()] == []
