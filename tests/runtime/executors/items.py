"""Functions that workers are given by the tests here; the value says how they end."""

import os
import signal
import time
from pathlib import Path
from typing import Any

from tilewright.runtime.executors.work import Spoiled

WORK = "tests.runtime.executors.items:square"


def square(value: dict[str, Any]) -> dict[str, Any]:
    """The square of ``n``, unless ``ends`` says otherwise; ``once`` is a file for the first call."""
    ends = value.get("ends")
    if "once" in value:
        if Path(value["once"]).exists():
            ends = None
        Path(value["once"]).touch()
    if ends == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if ends == "exited":
        os._exit(3)
    if ends == "silent":
        time.sleep(60)
    if ends == "raised":
        raise ValueError("an odd number")
    if ends == "spoiled":
        raise Spoiled("the GPU is gone")
    time.sleep(value.get("seconds", 0))
    return {"n": value["n"], "square": value["n"] ** 2, "pair": (1, 2)}


def counted(value: dict[str, Any]) -> int:
    """Adds a line to a file for each call."""
    with Path(value["file"]).open("a") as file:
        file.write(f"{value['n']}\n")
    return value["n"]


def process(value: dict[str, Any]) -> int:
    if value["n"] == 0:
        raise Spoiled("the GPU is gone")
    return os.getpid()
