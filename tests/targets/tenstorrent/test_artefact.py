"""Compiled programs: their files, and both executors on the caller's arrays."""

import json
import shutil
import subprocess
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from tests.passes.tenstorrent.execution import compiled
from tests.passes.tenstorrent.test_gemm import gemm
from tests.passes.tenstorrent.test_kernels import EXAMPLES, example, traced
from tilewright.targets.tenstorrent.artefact import Executor, artefact_of
from tilewright.targets.tenstorrent.core_ranges import rectangles
from tilewright.targets.tenstorrent.emit.emitter import Api
from tilewright.targets.tenstorrent.execution import RunOptions
from tilewright.targets.tenstorrent.source.toolchain import SourceExecutorUnavailable

STUB = Path(__file__).parent / "emit" / "host_stub"


def _artefact(*size, **options):
    module, _ = compiled(gemm(*size, **options))
    return artefact_of(module)


def _arrays(m, n, k):
    draw = np.random.default_rng(m)
    a = draw.integers(-2, 3, (m, k)).astype(ml_dtypes.bfloat16)
    b = draw.integers(-2, 3, (k, n)).astype(ml_dtypes.bfloat16)
    return a, b, a.astype(np.float32) @ b.astype(np.float32)


@pytest.mark.parametrize("executor", list(Executor), ids=lambda each: each.value)
@pytest.mark.parametrize(
    ("size", "block"), [((130, 70, 50), (32, 32, 32)), ((96, 100, 64), (64, 64, 32))]
)
def test_arrays_in_and_out(executor, size, block):
    a, b, expected = _arrays(*size)
    artefact = _artefact(*size, block=block)
    try:
        run = artefact.run({"A": a, "B": b}, RunOptions(seed=2), executor)
    except SourceExecutorUnavailable as reason:
        pytest.skip(str(reason))
    np.testing.assert_array_equal(run.arrays["C"].astype(np.float32), expected)
    assert run.result.traffic.dram_page_reads == artefact.plan.traffic.dram_page_reads


def test_the_files_of_a_program(tmp_path):
    artefact = _artefact(130, 70, 50)
    paths = artefact.write(tmp_path / "out")
    names = ["compute.cpp", "main.cpp", "reader.cpp", "tt.plan.json", "writer.cpp"]
    assert sorted(path.name for path in paths) == names
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == names
    plan = json.loads((tmp_path / "out" / "tt.plan.json").read_text())
    assert plan["cores"]["active"] == 15
    main = (tmp_path / "out" / "main.cpp").read_text()
    assert "CoreRange(CoreCoord(0, 0), CoreCoord(7, 0))" in main
    assert "CircularBufferConfig(2 * 2048, {{CBIndex::c_16, DataFormat::Float16_b}})" in main
    again = _artefact(130, 70, 50).files()
    assert again == {path.name: path.read_text() for path in paths}


def test_the_host_program_is_valid_with_the_calls_of_the_host_api(tmp_path):
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("no g++: main.cpp was NOT checked")
    source = tmp_path / "main.cpp"
    source.write_text(_artefact(130, 70, 50).files()["main.cpp"])
    command = [
        compiler,
        "-std=c++20",
        "-fsyntax-only",
        "-Wall",
        "-Werror",
        f"-I{STUB}",
        str(source),
    ]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr


def test_the_older_level_names_itself_in_the_sources():
    module, _ = compiled(gemm(64, 64, 64))
    artefact = artefact_of(module, api=Api.OLDER)
    assert "mm_block_init_short" in artefact.files()["compute.cpp"] or (
        "mm_init_short" in artefact.files()["compute.cpp"]
    )


@pytest.mark.parametrize(
    ("cores", "expected"),
    [
        ([(x, y) for y in range(2) for x in range(3)], "(0,0)..(2,1)"),
        ([(0, 0), (1, 0), (2, 0), (0, 1)], "(0,0)..(2,0) + (0,1)..(0,1)"),
        ([(0, 0), (2, 0), (0, 1), (2, 1)], "(0,0)..(0,1) + (2,0)..(2,1)"),
    ],
)
def test_cores_as_rectangles(cores, expected):
    found = rectangles(cores)
    assert str(found) == expected
    assert sorted(found) == sorted(cores)


def test_statements_of_a_fused_gemm_name_the_line_of_the_gemm():
    module = traced(example("gemm_relu").matmul_relu, *_halves())
    module, _ = compiled(module)
    text = artefact_of(module).files()["compute.cpp"].splitlines()
    source = (EXAMPLES / "gemm_relu.py").read_text().splitlines()
    line = 1 + next(n for n, text in enumerate(source) if "T.gemm(" in text)
    (at,) = [n for n, each in enumerate(text) if "matmul_block(" in each]
    comment = next(each for each in reversed(text[:at]) if each.strip().startswith("//"))
    assert comment.strip() == f"// gemm_relu.py:{line}"


def _halves():
    draw = np.random.default_rng(0)
    return (draw.standard_normal(shape).astype(np.float16) for shape in ((64, 64), (64, 64)))
