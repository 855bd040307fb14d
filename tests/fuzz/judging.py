"""A seed as an item of work: the judge by its name, its options and the seed; the verdict as JSON.

Judges are frozen dataclasses at the top of a module, so that a worker on another machine can make
the same one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from importlib import import_module
from typing import Any

from tests.fuzz.device.pool import Judge, Verdict

WORK = "tests.fuzz.judging:judge"


def described(judge: Judge) -> dict[str, Any]:
    """What a worker needs to make the same judge."""
    if not is_dataclass(judge) or isinstance(judge, type):
        raise TypeError(f"a judge that works elsewhere is a dataclass, not {judge!r}")
    kind = type(judge)
    return {"judge": f"{kind.__module__}:{kind.__qualname__}", "options": asdict(judge)}


def judge(value: Mapping[str, Any]) -> dict[str, Any]:
    """The verdict on a seed."""
    module, _, name = value["judge"].partition(":")
    options = {key: tuple(each) if isinstance(each, list) else each
               for key, each in value["options"].items()}  # fmt: skip
    verdict: Verdict = getattr(import_module(module), name)(**options)(value["seed"])
    return {"outcome": verdict.outcome, "reason": verdict.reason, "notes": verdict.notes}
