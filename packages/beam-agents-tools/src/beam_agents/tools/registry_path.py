"""Finds a registry by its import path, and tells apart what can go wrong."""

from __future__ import annotations

import importlib
import traceback
from typing import TypeVar

from beam_agents.tools.errors import (
    RegistryAttributeError,
    RegistryImportError,
    RegistryPathError,
    RegistryTypeError,
)

T = TypeVar("T")

_IMPORT_MACHINERY = ("<frozen importlib", importlib.__file__, __file__)


def load(path: str, kind: type[T]) -> T:
    """Import what `module:attribute` names; see `ToolRegistry.load` for the errors."""
    module_name, colon, attribute = path.partition(":")
    if not (colon and module_name and attribute):
        raise RegistryPathError(
            f"{path!r} is not of the form module:attribute, such as myapp.tools:TOOLS"
        )
    try:
        found: object = importlib.import_module(module_name)
    except (Exception, SystemExit) as error:  # the author's module may raise anything
        raise RegistryImportError(
            f"{path!r}: module {module_name!r} cannot be imported\n{_told_by(error)}"
        ) from error
    for name in attribute.split("."):
        found = _attribute(found, name, path, kind)
    if not isinstance(found, kind):
        raise RegistryTypeError(f"{path!r} is a {type(found).__qualname__}, not a {kind.__name__}")
    return found


def _attribute(found: object, name: str, path: str, kind: type[object]) -> object:
    try:
        return getattr(found, name)
    except AttributeError:
        raise RegistryAttributeError(
            f"{path!r}: {found!r} has no attribute {name!r}{_offer(found, kind)}"
        ) from None
    except Exception as error:  # a module may compute its attributes, and fail
        raise RegistryAttributeError(
            f"{path!r}: {name!r} cannot be read\n{_told_by(error)}"
        ) from error


def _told_by(error: BaseException) -> str:
    """Format an error with the frames of the user's code only."""
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith(_IMPORT_MACHINERY)
    ]
    return "".join(
        traceback.format_list(frames) + traceback.format_exception_only(type(error), error)
    ).rstrip()


def _offer(module: object, kind: type[object]) -> str:
    names = [name for name, value in vars(module).items() if isinstance(value, kind)]
    return f"; it has {', '.join(names)}" if names else ""
