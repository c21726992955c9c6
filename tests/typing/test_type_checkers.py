"""Tools are as well typed as we say, by the word of two type checkers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
USER_CODE = Path(__file__).with_name("user_code.py")


CHECKERS = {"mypy": ["--strict"], "pyright": ["--warnings", "--pythonpath", sys.executable]}


@pytest.mark.parametrize("checker", CHECKERS)
def test_typed_user_code_is_understood(checker: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", checker, *CHECKERS[checker], str(USER_CODE)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
