"""Everything that is emitted: accepted by the vendor's real headers, every argument in its role.

The kernels are those of the matrix. The default run takes some of them, `-m slow` all.
"""

from __future__ import annotations

import os

import pytest

from tests.sampling import every
from tests.targets.tenstorrent.matrix import KERNELS, SIZES
from tilewright.dialects.tensix.chips import BLACKHOLE, WORMHOLE
from tilewright.targets.tenstorrent.allocation import allocate
from tilewright.targets.tenstorrent.headers.call_roles import check_calls
from tilewright.targets.tenstorrent.headers.vendor_headers import (
    VARIABLE,
    check_kernel,
    checkout,
)
from tilewright.targets.tenstorrent.program import Program


def emitted(name: str) -> Program:
    artefact = KERNELS[name](SIZES["past"]).compiled("2x2")
    return artefact.program(with_sources=True)


@pytest.mark.parametrize("name", every(5, KERNELS))
def test_arguments_are_in_their_roles(name: str):
    for kernel in emitted(name).kernels:
        assert check_calls(kernel.source) == ()


@pytest.mark.parametrize("name", KERNELS)
def test_the_real_headers_accept_it(name: str):
    if not os.environ.get(VARIABLE):
        pytest.skip(f"{VARIABLE} is not set: nothing was checked against the real headers")
    program = emitted(name)
    allocation = allocate(program)
    for kernel in program.kernels:
        words = allocation.compile_time_words(kernel.compile_args)
        for chip in (WORMHOLE, BLACKHOLE):
            assert check_kernel(kernel, chip, words, checkout()).errors == ()
