"""Host programs run: the emitted main.cpp on arrays in files, and the vendor's own, unmodified."""

from __future__ import annotations

import os
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from tests.passes.tenstorrent.execution import compiled
from tests.passes.tenstorrent.test_gemm import gemm
from tilewright.dialects.tensix.chips import WORMHOLE, simulated
from tilewright.targets.tenstorrent.artefact import artefact_of
from tilewright.targets.tenstorrent.execution import Check, RunOptions
from tilewright.targets.tenstorrent.source import SourceExecutorUnavailable
from tilewright.targets.tenstorrent.source.host import run_host

VARIABLE = "TILEWRIGHT_TT_METAL"
VENDOR = {
    "loopback/loopback.cpp": "Test Passed",
    "eltwise_binary/eltwise_binary.cpp": "Test Passed",
    "eltwise_sfpu/eltwise_sfpu.cpp": "Test Passed",
    "sfpu_eltwise_chain/sfpu_eltwise_chain.cpp": "PCC = 1",
    "matmul/matmul_single_core/matmul_single_core.cpp": "Test Passed",
    "matmul/matmul_multi_core/matmul_multi_core.cpp": "Test Passed",
    "matmul/matmul_multicore_reuse/matmul_multicore_reuse.cpp": "Test Passed",
    "matmul/matmul_multicore_reuse_mcast/matmul_multicore_reuse_mcast.cpp": "Test Passed",
    "vecadd_multi_core/vecadd_multi_core.cpp": "All results match",
    "contributed/vecadd/vecadd.cpp": "+",
    "NoC_tile_transfer/noc_tile_transfer.cpp": "Result = 14 : Expected = 14",
    "add_2_integers_in_compute/add_2_integers_in_compute.cpp": "Success",
    "add_2_integers_in_riscv/add_2_integers_in_riscv.cpp": "Success: Result is 21",
}
"""Host programs of the vendor, and what they print when their own comparison succeeds."""
OFF = {
    "add_2_integers_in_compute": frozenset({Check.PUSH_WITHOUT_RESERVE}),
}


def emitted(directory: Path, **options: str) -> tuple[Path, np.ndarray]:
    """A GEMM's files, its inputs as files, and its result."""
    module, _ = compiled(gemm(130, 70, 50), **options)
    artefact_of(module).write(directory)
    draw = np.random.default_rng(7)
    a, b = (
        draw.integers(-2, 3, shape).astype(ml_dtypes.bfloat16) for shape in ((130, 50), (50, 70))
    )
    (directory / "A.bin").write_bytes(a.tobytes())
    (directory / "B.bin").write_bytes(b.tobytes())
    return directory / "main.cpp", a.astype(np.float32) @ b.astype(np.float32)


def test_the_emitted_host_program_reads_runs_and_writes(tmp_path: Path):
    directory = tmp_path / "program"
    main, expected = emitted(directory)
    try:
        found = run_host(
            main,
            simulated(8, 8),
            kernel_roots=(directory,),
            arguments=(str(directory),),
            options=RunOptions(seed=3),
        )
    except SourceExecutorUnavailable as reason:
        pytest.skip(f"the host program was NOT run: {reason}")
    assert (found.status, found.output) == (0, "")
    (result,) = found.results
    assert result.findings == ()
    pages = np.frombuffer((directory / "C.bin").read_bytes(), ml_dtypes.bfloat16)
    np.testing.assert_array_equal(pages.reshape(130, 70).astype(np.float32), expected)
    smaller = run_host(main, WORMHOLE, kernel_roots=(directory,), arguments=(str(directory),))
    assert smaller.status == 1
    assert smaller.output == "8 x 8 cores needed, the device offers 8 x 7\n"
    assert smaller.results == ()


@pytest.mark.slow
def test_the_emitted_host_program_lists_the_blocks_of_a_core(tmp_path: Path):
    directory = tmp_path / "program"
    main, expected = emitted(directory, cores="2x2", order="hilbert")
    text = main.read_text()
    assert "    std::vector<uint32_t> block_ids;\n" in text
    assert "reader_args.insert(reader_args.end(), each.block_ids.begin()" in text
    try:
        found = run_host(
            main, simulated(2, 2), kernel_roots=(directory,), arguments=(str(directory),)
        )
    except SourceExecutorUnavailable as reason:
        pytest.skip(f"the host program was NOT run: {reason}")
    assert (found.status, found.output, found.results[0].findings) == (0, "", ())
    pages = np.frombuffer((directory / "C.bin").read_bytes(), ml_dtypes.bfloat16)
    np.testing.assert_array_equal(pages.reshape(130, 70).astype(np.float32), expected)


@pytest.mark.parametrize("name", VENDOR)
def test_a_vendor_host_program_passes(name: str):
    root = os.environ.get(VARIABLE)
    if not root:
        pytest.skip(f"{VARIABLE} is not set: the vendor's host programs were NOT run")
    examples = Path(root) / "tt_metal" / "programming_examples"
    found = run_host(
        examples / name,
        simulated(8, 8),
        kernel_roots=(Path(root), examples),
        include=(examples / "matmul" / "matmul_common",),
        defines=("TT_METAL_CI_MODE",),
        options=RunOptions(seed=1, off=OFF.get(Path(name).stem, frozenset())),
        optimise=True,  # they multiply matrices to compare with
    )
    assert [str(f) for result in found.results for f in result.findings] == []
    assert found.status == 0, found.output
    assert VENDOR[name] in found.output
    assert len(found.results) == 1
