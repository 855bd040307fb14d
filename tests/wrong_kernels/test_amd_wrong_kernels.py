"""What the compiler for AMD GPUs reports of kernels that are wrong, infeasible or slow: one file each.

As in `test_gpu_wrong_kernels`: a case in `amd_cases` has `wrong` and `fixed`, `arguments` for both,
what is `expected` of `fixed`, and its `TARGET`. What is reported of `wrong` equals the text file of
the case: its errors, or else its warnings, or else its remarks. `fixed` is the fix applied: nothing
of the kind is reported of it, HIP comes out, and the thread-level executor gives the right values.
"""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from tests.wrong_kernels.test_gpu_wrong_kernels import HEADER, worst
from tests.wrong_kernels.test_wrong_kernels import load
from tilewright.ir.diagnostics import CompileError, Diagnostic, DiagnosticEngine, pretty_all
from tilewright.layouts.hardware.amd_chips import chip_named
from tilewright.passes.amd.pipeline import AmdPipeline
from tilewright.targets.cxx.kernel import kernels_of
from tilewright.targets.hip.emit.kernel import emit_kernel
from tilewright.targets.numpy.simt import Buffer, compile_simt

CASES = sorted((Path(__file__).parent / "amd_cases").glob("*.py"))

each_case = pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)


def compiled(case: ModuleType, kernel) -> tuple[object, Sequence[Diagnostic], DiagnosticEngine]:
    """A kernel at thread level, unless something is wrong, and what was reported."""
    engine = DiagnosticEngine()
    try:
        module = kernel.get_tir(*case.arguments()).module.clone()
    except CompileError as error:
        return None, error.diagnostics, engine
    AmdPipeline(target=case.TARGET).run(module, engine)
    return None if engine.has_errors else module, engine.diagnostics, engine


@each_case
def test_message(path: Path, request: pytest.FixtureRequest):
    case = load(path)
    _, diagnostics, engine = compiled(case, case.wrong)
    text = pretty_all(worst(diagnostics), engine.sources)
    found = text.replace(f"{path.parent}{os.sep}", "") + "\n"
    golden = path.with_suffix(".txt")
    if request.config.getoption("--update-golden"):
        golden.write_text(found, encoding="utf-8")
    assert golden.is_file(), f"{golden.name} is missing: run with --update-golden, and read it"
    assert found == golden.read_text(encoding="utf-8")


@each_case
def test_fixed_variant_compiles_without_that_and_is_right(path: Path):
    case = load(path)
    severity = worst(compiled(case, case.wrong)[1])[0].severity
    module, diagnostics, engine = compiled(case, case.fixed)
    assert [each for each in diagnostics if each.severity >= severity] == [], pretty_all(
        diagnostics, engine.sources
    )
    (function,) = kernels_of(module)
    chip = chip_named(case.TARGET.partition(":")[2])
    assert 'extern "C"' in emit_kernel(function, chip).text
    arguments = case.arguments()
    expected = np.asarray(case.expected(*arguments), dtype=np.float32)
    out = np.full_like(expected, np.nan)
    buffers = [Buffer(f"in{index}", each) for index, each in enumerate(arguments)]
    compile_simt(module).launch([*buffers, Buffer("out", out)])
    np.testing.assert_array_equal(out, expected)


def test_there_are_enough_cases_and_each_message_names_a_line_and_a_change():
    names = {path.stem for path in CASES}
    assert len(names) >= 15
    assert names == {path.stem for path in CASES[0].parent.glob("*.txt")}
    for path in CASES:
        text = path.with_suffix(".txt").read_text("utf-8")
        header, excerpt, mark, *_ = text.splitlines()
        location = HEADER.match(header)
        assert location is not None, path.stem
        source = path.read_text("utf-8").splitlines()[int(location["line"]) - 1]
        assert excerpt == f"  {location['line']} | {source}"
        assert mark.index("^") - len(f"  {location['line']} | ") == int(location["column"]) - 1
        assert re.search(r"\d", header.partition(": ")[2])
        assert "help: " in text or path.stem == "l2_hit_ratio"
