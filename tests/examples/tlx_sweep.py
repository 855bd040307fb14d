"""A mutant as an item of work: described as JSON, run on any worker, with its verdict as JSON."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict
from functools import cache
from typing import Any

from tests.examples.tlx_examples import FOLDER, HELD_OUT, HELD_OUT_FOLDER
from tests.examples.tlx_mutants import Example, Mutant, run

WORK = "tests.examples.tlx_sweep:judged"


@cache
def example(name: str) -> Example:
    """Run once as it is, in each process."""
    return Example.of(name)


def described(mutant: Mutant, schedules: int) -> dict[str, Any]:
    """What a worker needs; the text of the example is part of it, so that old results go."""
    return {**asdict(mutant), "schedules": schedules, "source": _source(mutant.example)}


@cache
def _source(name: str) -> str:
    folder = HELD_OUT_FOLDER if name in HELD_OUT else FOLDER
    return hashlib.sha256((folder / f"{name}.py").read_bytes()).hexdigest()


def judged(value: Mapping[str, Any]) -> dict[str, Any]:
    """The verdict on a mutant. Its message is without the place of the checkout."""
    fields = dict(value)
    schedules, source = fields.pop("schedules"), fields.pop("source")
    mutant = Mutant(**fields)
    if source != _source(mutant.example):
        raise ValueError(f"{mutant.example} is another file on this worker")
    verdict = run(mutant, example(mutant.example), schedules=schedules)
    return {
        "outcome": verdict.outcome,
        "message": verdict.message.partition("\n")[0].partition(": ")[2],
        "is_right": verdict.is_right,
        "truth": str(verdict.truth),
    }
