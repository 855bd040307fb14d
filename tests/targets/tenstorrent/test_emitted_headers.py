"""Everything that is emitted: accepted by the vendor's real headers, every argument in its role."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.passes.tenstorrent.execution import compiled
from tests.passes.tenstorrent.test_gemm import gemm
from tilewright.dialects.tensix.chips import BLACKHOLE, WORMHOLE, ChipSpec
from tilewright.targets.tenstorrent.allocation import allocate
from tilewright.targets.tenstorrent.artefact import artefact_of
from tilewright.targets.tenstorrent.headers.call_roles import check_calls
from tilewright.targets.tenstorrent.headers.vendor_headers import (
    VARIABLE,
    check_kernel,
    checkout,
)
from tilewright.targets.tenstorrent.program import Program

GEMMS: dict[str, dict[str, Any]] = {
    "one tile": {"block": (32, 32, 32)},
    "several tiles": {"block": (64, 64, 32)},
    "many tiles": {"block": (128, 128, 32)},
    "transposed": {"block": (64, 32, 32), "transpose": True},
    "narrow accumulator": {"block": (32, 32, 32), "accumulator": "bfloat16"},
}


def emitted(name: str) -> Program:
    module, _ = compiled(gemm(256, 256, 128, **GEMMS[name]))
    return artefact_of(module).program(with_sources=True)


@pytest.mark.parametrize("name", GEMMS)
def test_arguments_are_in_their_roles(name: str):
    for kernel in emitted(name).kernels:
        assert check_calls(kernel.source) == ()


@pytest.mark.parametrize("chip", [WORMHOLE, BLACKHOLE], ids=lambda chip: chip.name)
@pytest.mark.parametrize("name", GEMMS)
def test_the_real_headers_accept_it(name: str, chip: ChipSpec):
    if not os.environ.get(VARIABLE):
        pytest.skip(f"{VARIABLE} is not set: nothing was checked against the real headers")
    root: Path = checkout()
    program = emitted(name)
    allocation = allocate(program)
    for kernel in program.kernels:
        words = allocation.compile_time_words(kernel.compile_args)
        assert check_kernel(kernel, chip, words, root).errors == ()
