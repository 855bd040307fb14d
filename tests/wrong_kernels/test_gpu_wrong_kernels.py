"""What the compiler for GPUs says of kernels that are wrong, infeasible or slow: one file each.

No GPU is needed. A case in `gpu_cases` has `wrong` and `fixed`, `arguments` for both, what is
`expected` of `fixed`, and a `TARGET` if it is not Hopper. What is said of `wrong` must equal the
text file beside the case: its errors, or else its warnings, or else its remarks, with paths
shortened to names. `fixed` is the advice taken: nothing of the kind is said of it, CUDA comes out,
and the tile level gives the right values.

After a change of messages: `pytest tests/wrong_kernels --update-golden`, then read the diff as an
author would.
"""

import inspect
import os
import re
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from tests.wrong_kernels.test_wrong_kernels import load
from tilewright.ir.diagnostics import (
    CompileError,
    Diagnostic,
    DiagnosticEngine,
    Severity,
    pretty_all,
)
from tilewright.passes.gpu.pipeline import GpuPipeline
from tilewright.targets.cuda.emit.kernel import emit_kernel, kernels_of
from tilewright.targets.cuda.nvrtc import compile_source

CASES = sorted((Path(__file__).parent / "gpu_cases").glob("*.py"))
HOPPER = "cuda:sm_90a"
HEADER = re.compile(
    r"(?P<file>\w+\.py):(?P<line>\d+):(?P<column>\d+): (?:error|warning|remark)\[TW\d{4}\]: \S"
)

each_case = pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)


def arguments_of(case: ModuleType, kernel: object) -> tuple[np.ndarray, ...]:
    """What a kernel is compiled for; a few cases have other arguments for `fixed`."""
    takes_kernel = bool(inspect.signature(case.arguments).parameters)
    return case.arguments(kernel) if takes_kernel else case.arguments()


def compiled(case: ModuleType, kernel) -> tuple[list[str], Sequence[Diagnostic], DiagnosticEngine]:
    """The CUDA of a kernel, unless something is wrong, and what was said."""
    engine = DiagnosticEngine()
    try:
        module = kernel.get_tir(*arguments_of(case, kernel)).module.clone()
    except CompileError as error:
        return [], error.diagnostics, engine
    GpuPipeline(target=getattr(case, "TARGET", HOPPER)).run(module, engine)
    if engine.has_errors:
        return [], engine.diagnostics, engine
    return [emit_kernel(each).text for each in kernels_of(module)], engine.diagnostics, engine


def worst(diagnostics: Sequence[Diagnostic]) -> list[Diagnostic]:
    level = max((each.severity for each in diagnostics), default=Severity.ERROR)
    return [each for each in diagnostics if each.severity is level]


@each_case
def test_message(path: Path, request: pytest.FixtureRequest):
    case = load(path)
    _, diagnostics, engine = compiled(case, case.wrong)
    said = pretty_all(worst(diagnostics), engine.sources)
    found = said.replace(f"{path.parent}{os.sep}", "") + "\n"
    golden = path.with_suffix(".txt")
    if request.config.getoption("--update-golden"):
        golden.write_text(found, encoding="utf-8")
    assert golden.is_file(), f"{golden.name} is missing: run with --update-golden, and read it"
    assert found == golden.read_text(encoding="utf-8")


@each_case
def test_message_points_into_the_case(path: Path):
    """The golden file shows the line that it names, and marks characters that are there."""
    header, excerpt, mark, *_ = path.with_suffix(".txt").read_text("utf-8").splitlines()
    place = HEADER.match(header)
    assert place is not None
    assert place["file"] == path.name
    source = path.read_text(encoding="utf-8").splitlines()[int(place["line"]) - 1]
    assert excerpt == f"  {place['line']} | {source}"
    column = mark.index("^") - len(f"  {place['line']} | ")
    assert column == int(place["column"]) - 1
    assert source[column : column + 1].strip()


@each_case
def test_fixed_variant_compiles_without_that_and_is_right(path: Path):
    case = load(path)
    severity = worst(compiled(case, case.wrong)[1])[0].severity
    sources, diagnostics, engine = compiled(case, case.fixed)
    assert [each for each in diagnostics if each.severity >= severity] == [], pretty_all(
        diagnostics, engine.sources
    )
    assert len(sources) == 1
    assert "__global__" in sources[0]
    arguments = arguments_of(case, case.fixed)
    np.testing.assert_array_equal(case.fixed(*arguments), case.expected(*arguments))


@pytest.mark.slow
@each_case
def test_the_cuda_compiler_takes_the_fixed_variant(path: Path):
    case = load(path)
    (source,), _, _ = compiled(case, case.fixed)
    arch = getattr(case, "TARGET", HOPPER).partition(":")[2]
    assert compile_source(source, arch, name=f"{path.stem}.cu").cubin[:4] == b"\x7fELF"


def test_there_are_enough_cases_and_no_stray_texts():
    names = {path.stem for path in CASES}
    assert len(names) >= 20
    assert names == {path.stem for path in CASES[0].parent.glob("*.txt")}


def test_most_messages_end_with_a_change_that_works():
    """Whoever says that something cannot be done says what can."""
    texts = {path.stem: path.with_suffix(".txt").read_text("utf-8") for path in CASES}
    without = {name for name, text in texts.items() if "help: " not in text}
    # Checked when a kernel is built, where a message is one sentence; and remarks.
    assert without <= {
        "cluster_grid",
        "fp8_on_ampere",
        "gemm_types",
        "odd_row_stride",
        "tensor_memory",
        "tma_stride",
        "too_many_threads",
        "wgmma_rows",
    }
    assert all(re.search(r"\d", text.splitlines()[0].partition(": ")[2]) for text in texts.values())
