"""Every pass from `lower-tile-ops` on leaves what a kernel computes as it was.

The executor runs the IR after each of them. Until accesses are guarded, what is outside of a tensor
reads as zero and is not written, as at the tile level; until threads are made to wait for each
other, they run in lockstep. Where sums across warps have not been lowered yet, they are added up in
another order; from then on no bit may change.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from tests.examples.tile_examples import NAMES
from tests.targets.numpy.simt.mutants import Subject, same, subjects
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.passes.gpu.pipeline import GpuPipeline
from tilewright.targets.numpy.simt import SimtFault, SimtOptions

FIRST, GUARDS, SYNCS = "lower-tile-ops", "guard-memory-accesses", "insert-thread-syncs"


def levels(module: ModuleOp) -> Iterator[tuple[str, ModuleOp, SimtOptions]]:
    """The IR after each pass that changes something, and how to run it."""
    passes = GpuPipeline().passes()
    names = [each.name for each in passes]
    engine = DiagnosticEngine()
    last = module.clone()
    for number, each in enumerate(passes):
        each.run(module, engine)
        engine.raise_if_errors()
        if number < names.index(FIRST):
            continue
        options = SimtOptions(
            guarded=number >= names.index(GUARDS), checked=number >= names.index(SYNCS)
        )
        if each.name == FIRST or not module.is_structurally_equivalent(last):
            last = module.clone()
            yield f"{number}: {each.name}", last, options


def check(subject: Subject) -> None:
    expected = subject.run(subject.module, SimtOptions())
    count = 0
    for label, module, options in levels(subject.traced.clone()):
        found = subject.run(module, options)
        if options.checked:
            assert same(found, expected), f"{subject.name} after {label}"
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(
                one.astype(np.float64), other.astype(np.float64), 1e-3, 1e-3, err_msg=label
            )
        count += 1
    assert count > 8


def test_passes_change_nothing() -> None:
    for subject in subjects("rms_norm"):
        check(subject)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_passes_change_nothing_of_any_example(name: str) -> None:
    for subject in subjects(name):
        check(subject)


def test_before_guards_what_is_outside_is_zero() -> None:
    (subject,) = subjects("elementwise_add")
    label, module, options = next(levels(subject.traced.clone()))
    assert (label.endswith(FIRST), options.guarded) == (True, False)
    assert same(subject.run(module, options), subject.run(subject.module, SimtOptions()))
    with pytest.raises(SimtFault, match="has extent"):
        subject.run(module, SimtOptions(checked=False))
