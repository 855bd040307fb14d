"""Emitted kernels run in the source executor, at both levels of the API, as their IR does."""

from dataclasses import replace

import numpy as np
import pytest

from tests.targets.tenstorrent.machine.gemm_ir import (
    TEXT,
    gemm_program,
    inputs_of,
    kernels_of,
    matrix,
    pages,
)
from tilewright.targets.tenstorrent.emit.emitter import Api
from tilewright.targets.tenstorrent.emit.kernels import emit_kernel
from tilewright.targets.tenstorrent.execution import RunOptions
from tilewright.targets.tenstorrent.machine import run_kernels
from tilewright.targets.tenstorrent.source.executor import run
from tilewright.targets.tenstorrent.source.toolchain import SourceExecutorUnavailable


@pytest.mark.parametrize("api", list(Api), ids=lambda api: api.value)
def test_both_executors_agree(api):
    kernels = kernels_of(TEXT)
    program = gemm_program(3, 2, 2, (2, 2))
    defines = {"TW_API_2025": "1"} if api is Api.OLDER else {}
    with_sources = replace(
        program,
        kernels=tuple(
            replace(each, text=emit_kernel(kernels[each.name], api=api), defines=defines)
            for each in program.kernels
        ),
    )
    a, b = inputs_of(3, 2, 2)
    inputs = {"A": pages(a), "B": pages(b)}
    expected = run_kernels(program, kernels, inputs, RunOptions(seed=4)).raise_for_findings()
    try:
        found = run(with_sources, inputs, RunOptions(seed=4)).raise_for_findings()
    except SourceExecutorUnavailable as reason:
        pytest.skip(str(reason))
    assert found.buffers["C"] == expected.buffers["C"]
    assert found.traffic == expected.traffic
    exact = (a.astype(np.float32) @ b.astype(np.float32)).astype(a.dtype)
    np.testing.assert_array_equal(matrix(found.buffers["C"], 96, 64), exact)
