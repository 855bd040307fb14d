"""On a GPU: operators and conversions give the bits that the NumPy target gives.

The cases are those that are compared with Triton's interpreter, compiled and run by Triton here.
Left out is what compiled kernels leave open, or answer in another way on purpose:

* `/` of fp32 is an approximation (`div.full.f32`), at most 2 units in the last place away;
* `%` of floats is x - trunc(x / y) * y, rounded at each step; the remainder here is exact;
* shifts by the width or more have no meaning in LLVM;
* fp8e5 becomes bfloat16 by moving bits, which makes numbers of infinities and NaN;
* some conversions of 8-bit floats and doubles are not there.

Before release 3.9, `fdiv` rounds as it likes, and -x is 0 - x for floats as well: +0.0 for 0.0.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

if find_spec("torch") and find_spec("triton"):
    import torch

    from tests.device.launch import VERSION
    from tests.language.tl.operator_cases import (
        DTYPES,
        INTEGERS,
        LANES,
        NAMES,
        SMALL_FLOATS,
        Array,
        Key,
        Plan,
        Value,
        operand,
        plan,
    )
    from tests.language.tl.operator_reference import CONVERSIONS, FORMATS
    from tests.language.tl.test_operator_values import complaint, differ, our_values
else:
    NAMES = ("all",)

pytestmark = pytest.mark.device

_HEAD = "import triton as tw\nimport triton.language as tl\n"
_CHUNK = 40
"""Cases in a kernel: a few hundred would take long to compile."""


def is_compiled(case: Value, dtype: str) -> bool:
    """Whether Triton has code for a case, and the same as today."""
    if VERSION < (3, 9) and dtype in FORMATS and case.operator in ("fdiv", "fdiv ieee", "neg"):
        return False
    if case.operator == "fdiv ieee":
        return dtype != "fp64"
    if case.operator == "neg":
        return dtype not in SMALL_FLOATS
    if case.operator not in CONVERSIONS or case.left == case.right:
        return True
    small = [each for each in (case.left, case.right) if each in SMALL_FLOATS]
    if case.operator == "cast rtz" and case.right != "bf16":
        return case.left == "fp32" and case.right != "fp8e4nv"
    is_double = "fp64" in (case.left, case.right)
    return len(small) < 2 and not (is_double and (small or case.operator == "cast rtz"))


def compared(wanted: Plan, case: Value) -> Array:
    """The elements that have one right value on a GPU."""
    everywhere = np.ones(LANES, np.bool_)
    dtype = wanted.dtype(case.key)
    if case.operator == "%" and dtype in FORMATS:
        return ~everywhere
    if case.operator in ("<<", ">>") and case.right in INTEGERS:
        amount = operand(case.operands[1], case.right).astype(np.float64)
        return (amount >= 0) & (amount < (1 if dtype == "int1" else np.iinfo(DTYPES[dtype]).bits))
    if (case.operator, case.left, case.right) == ("cast", "fp8e5", "bf16"):
        return np.isfinite(operand("x", "fp8e5").astype(np.float32))
    return everywhere


def places_away(a: Array, b: Array) -> Array:
    """How many numbers lie between two of the same sign."""
    return np.abs(a.view(np.int32).astype(np.int64) - b.view(np.int32))


def on_device(array: Array) -> Any:
    name = np.dtype(array.dtype).name
    dtype = getattr(torch, "bool" if name == "bool" else name)
    flat = np.ascontiguousarray(array).reshape(-1)
    return torch.from_numpy(flat.view(np.uint8).copy()).view(dtype).cuda()


def gpu_values(wanted: Plan, cases: Sequence[Value], folder: Path) -> dict[Key, Array]:
    part = wanted.only(f"kernel_{wanted.name}", cases)
    path = folder / f"part_{len(list(folder.iterdir()))}.py"
    path.write_text(f"{_HEAD}\n\n{part.source}")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    outputs = part.empty()
    results = {dtype: on_device(array) for dtype, array in outputs.items()}
    operands = [on_device(array) for array in part.operands().values()]
    getattr(module, part.name)[(1,)](*operands, *results.values())
    found = {
        dtype: results[dtype].view(torch.uint8).cpu().numpy().view(array.dtype).reshape(array.shape)
        for dtype, array in outputs.items()
    }
    return part.split(found)


@pytest.mark.parametrize("name", [name for name in NAMES if not name.startswith("numbers")])
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::RuntimeWarning")
def test_values_are_those_of_a_gpu(name: str, tmp_path: Path) -> None:
    wanted, complaints = plan(name), []
    ours = our_values(wanted, tmp_path)
    cases = [case for case in wanted.cases if is_compiled(case, wanted.dtype(case.key))]
    for start in range(0, len(cases), _CHUNK):
        chunk = cases[start : start + _CHUNK]
        theirs = gpu_values(wanted, chunk, tmp_path)
        for case in chunk:
            found, value = ours[case.key], theirs[case.key]
            wrong = differ(found, value) & compared(wanted, case)
            if case.operator in ("/", "fdiv") and found.dtype == np.float32:
                wrong &= places_away(found, value) > 2
            if wrong.any():
                complaints.append(complaint(wanted, case, found, value, wrong))
    assert not complaints, "\n".join(complaints[:20])
