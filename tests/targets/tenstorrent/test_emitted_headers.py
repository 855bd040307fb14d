"""Everything that is emitted: accepted by the vendor's real headers, every argument in its role.

The kernels are those of the matrix. The default run takes some of them, `-m slow` all.
"""

from __future__ import annotations

import os

import pytest

from tests.oracles.tenstorrent_headers.call_roles import check_calls
from tests.oracles.tenstorrent_headers.vendor_headers import (
    VARIABLE,
    check_kernel,
    checkout,
)
from tests.sampling import every
from tests.targets.tenstorrent.matrix import KERNELS, SIZES
from tilewright.dialects.tensix.chips import BLACKHOLE, WORMHOLE
from tilewright.targets.tenstorrent.allocation import allocate
from tilewright.targets.tenstorrent.program import Program

MULTICAST = ("gemm", "batched", "attention", "gemm fp16, blocks of 4 tiles")
"""Kernels whose readers send and receive with multicast."""


SHARDS = (
    ("gemm", "1x2", "A:height,B:width,C:height"),
    ("gemm fp16, blocks of 4 tiles", "2x2", "A:block,B:width,C:block"),
    ("attention", "2x2", "Q:height,K:block,V:width"),
)
"""Kernels with tensors in L1: some in place, some with accessors of shards."""


def sharded(name: str, cores: str, shard: str) -> Program:
    artefact = KERNELS[name](SIZES["past"]).compiled(cores, **{"tt.shard": shard})
    assert any(tensor.shards is not None for tensor in artefact.plan.tensors)
    return artefact.program(with_sources=True)


def emitted(name: str, multicast: str = "off") -> Program:
    artefact = KERNELS[name](SIZES["past"]).compiled("2x2", **{"tt.multicast": multicast})
    assert (artefact.plan.multicast is not None) == (multicast == "on")
    return artefact.program(with_sources=True)


@pytest.mark.parametrize("name", every(5, KERNELS))
def test_arguments_are_in_their_roles(name: str):
    for kernel in emitted(name).kernels:
        assert check_calls(kernel.source) == ()


@pytest.mark.parametrize("name", every(2, MULTICAST))
def test_arguments_of_multicasts_are_in_their_roles(name: str):
    program = emitted(name, "on")
    assert len(program.kernels) > 3
    for kernel in program.kernels:
        assert check_calls(kernel.source) == ()


@pytest.mark.parametrize(
    ("name", "multicast"),
    [*((name, "off") for name in KERNELS), *((name, "on") for name in MULTICAST)],
)
def test_the_real_headers_accept_it(name: str, multicast: str):
    if not os.environ.get(VARIABLE):
        pytest.skip(f"{VARIABLE} is not set: nothing was checked against the real headers")
    program = emitted(name, multicast)
    allocation = allocate(program)
    for kernel in program.kernels:
        words = allocation.compile_time_words(kernel.compile_args)
        for chip in (WORMHOLE, BLACKHOLE):
            assert check_kernel(kernel, chip, words, checkout()).errors == ()


@pytest.mark.parametrize(("name", "cores", "shard"), SHARDS)
def test_kernels_on_shards(name: str, cores: str, shard: str):
    program = sharded(name, cores, shard)
    for kernel in program.kernels:
        assert check_calls(kernel.source) == ()
    if not os.environ.get(VARIABLE):
        pytest.skip(f"{VARIABLE} is not set: nothing was checked against the real headers")
    allocation = allocate(program)
    for kernel in program.kernels:
        words = allocation.compile_time_words(kernel.compile_args)
        for chip in (WORMHOLE, BLACKHOLE):
            assert check_kernel(kernel, chip, words, checkout()).errors == ()
