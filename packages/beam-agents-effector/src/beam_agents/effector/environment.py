"""What the process's environment says of the settings, and what it says by mistake."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path

from beam_agents.effector.options import ENV_PREFIX, Setting

# What Kubernetes sets in every pod for a service called `effector`, or `effector-…`. A
# bare `…_PORT` could also be someone's wrong guess of a setting, so its value is judged too.
_KUBERNETES = re.compile(
    r"EFFECTOR(_[A-Z0-9_]+)?_(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?"
    r"|PORT_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)"
)
_KUBERNETES_PORT = re.compile(r"EFFECTOR(_[A-Z0-9_]+)?_PORT=(tcp|udp|sctp)://.*")


def unknown_variables(settings: Iterable[Setting], environ: Mapping[str, str]) -> Iterator[str]:
    """Say of each `EFFECTOR_…` variable that is no setting that it is none."""
    known = set(_variables(settings))
    for name, value in sorted(environ.items()):
        if name.startswith(ENV_PREFIX) and name not in known and not _of_kubernetes(name, value):
            yield f"{name}: no such setting{_offer(name, known)}"


def read_variable(setting: Setting, environ: Mapping[str, str]) -> str | None:
    """Return what the environment gives for a setting; for a secret also by its `…_FILE`.

    Raises:
        ValueError: Both are set, or the file cannot be read.
    """
    value = environ.get(setting.variable)
    path = environ.get(_file_variable(setting)) if setting.option.secret else None
    if path is None:
        return value
    if value is not None:
        raise ValueError(f"set {setting.variable} or {_file_variable(setting)}, not both")
    try:
        return Path(path).read_text(encoding="utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise ValueError(f"{_file_variable(setting)}: cannot read {path!r}: {reason}") from None


def _offer(name: str, known: Iterable[str]) -> str:
    # Without the prefix, which would make everything look alike.
    endings = [variable.removeprefix(ENV_PREFIX) for variable in known]
    close = get_close_matches(name.removeprefix(ENV_PREFIX), endings, n=1)
    return f"; did you mean {ENV_PREFIX}{close[0]}?" if close else ""


def _variables(settings: Iterable[Setting]) -> Iterator[str]:
    for setting in settings:
        yield setting.variable
        if setting.option.secret:
            yield _file_variable(setting)


def _file_variable(setting: Setting) -> str:
    return f"{setting.variable}_FILE"


def _of_kubernetes(name: str, value: str) -> bool:
    if _KUBERNETES.fullmatch(name) is not None:
        return True
    return _KUBERNETES_PORT.fullmatch(f"{name}={value}") is not None
