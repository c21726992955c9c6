"""Google's emulators: part of the Cloud SDK, and in no package registry."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from compose.local.server import Unusable

SDK_VARIABLE = "BEAM_AGENTS_CLOUD_SDK"


def component(name: str, pattern: str) -> Path:
    """The file of a component that matches a pattern, in the SDK whose `gcloud` is on PATH.

    `BEAM_AGENTS_CLOUD_SDK` names the folder of another SDK.
    """
    found = sorted(_sdk().glob(f"platform/{name}/{pattern}"))
    if not found:
        raise Unusable(
            f"no {name} in the Google Cloud SDK at {_sdk()}; install it"
            f" (gcloud components install {name}, or package google-cloud-cli-{name}),"
            f" or set {SDK_VARIABLE} to the folder of an SDK that has it"
        )
    return found[-1]


def _sdk() -> Path:
    if chosen := os.environ.get(SDK_VARIABLE):
        return Path(chosen).resolve()
    gcloud = shutil.which("gcloud")
    if gcloud is None:
        raise Unusable(f"no gcloud on PATH; install the Google Cloud SDK, or set {SDK_VARIABLE}")
    return Path(gcloud).resolve().parents[1]
