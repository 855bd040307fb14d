"""The HIP text of the examples, run on the host lane by lane, computes what NumPy does in float64.

Matrix instructions, exchange and conversions are those of the chip, as ``host_machine.h`` has them.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from tests.examples.tile_examples import NAMES, as_tuple, fresh, load
from tests.targets.hip.host_run import launch_on_host
from tests.targets.hip.support import needs_clang
from tests.targets.numpy.simt.simt_support import example_results
from tilewright.layouts.hardware.amd_chips import CHIPS, chip_named
from tilewright.passes.amd.pipeline import AmdPipeline

pytestmark = needs_clang
TOLERANCE = 2e-2


@cache
def expected(name: str) -> tuple[np.ndarray, ...]:
    _, references = fresh(load(name)).example(np.random.default_rng(0))
    return tuple(np.asarray(each).astype(np.float64) for each in as_tuple(references))


def check(name: str, arch: str, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    references = expected(name)
    launch_on_host(chip_named(arch), directory, monkeypatch)
    found = example_results(load(name), AmdPipeline(target=f"hip:{arch}"))
    for got, reference in zip(found, references, strict=True):
        scale = max(1.0, np.abs(reference[np.isfinite(reference)]).max(initial=0))
        np.testing.assert_allclose(
            got.astype(np.float64), reference, rtol=TOLERANCE, atol=TOLERANCE * scale
        )


@pytest.mark.slow
@pytest.mark.parametrize("arch", CHIPS)
@pytest.mark.parametrize("name", NAMES)
def test_every_chip(name: str, arch: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check(name, arch, tmp_path, monkeypatch)
