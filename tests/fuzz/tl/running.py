"""Run a generated kernel on the host, and evaluate its reference."""

from __future__ import annotations

import linecache
from typing import Any

import numpy as np

import tilewright as tw
from tests.fuzz.tl import reference as support
from tests.fuzz.tl.generator import Case

OURS = "import tilewright as tw\nfrom tilewright import tl\n\n\n"
TRITONS = "import triton as tw\nimport triton.language as tl\n\n\n"

Arrays = dict[str, np.ndarray]


def defined(name: str, source: str, namespace: dict[str, Any]) -> dict[str, Any]:
    """Execute generated text so that tracebacks and the front end find its lines."""
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    exec(compile(source, name, "exec"), namespace)
    return namespace


def expected(case: Case) -> Arrays:
    """The arguments after the reference has run."""
    namespace: dict[str, Any] = {"np": np, **vars(support)}
    found = defined(f"<reference of seed {case.seed}>", case.reference, namespace)
    arrays = case.arrays()
    scalars = [np.float32(each) if isinstance(each, float) else np.int32(each)
               for each in case.scalars.values()]  # fmt: skip
    with np.errstate(all="ignore"):
        found["reference"](*arrays.values(), *scalars, *case.constants.values())
    return arrays


def kernel(case: Case) -> Any:
    name = f"<tl kernel of seed {case.seed}>"
    return defined(name, OURS + case.source, {"__name__": "generated"})["kernel"]


def described(case: Case, arrays: dict[str, Any], descriptor: Any) -> list[Any]:
    """Arrays as a kernel takes them: some as tensor descriptors, made by `descriptor`."""
    found: list[Any] = []
    for each in case.arguments:
        array = arrays[each.name]
        if not each.block:
            found.append(array)
            continue
        pitch = each.size
        for extent in each.shape[:-1]:
            pitch //= extent
        strides = [pitch, 1] if len(each.shape) > 1 else [1]
        for extent in each.shape[-2:0:-1]:
            strides.insert(0, strides[0] * extent)
        found.append(descriptor(array, list(each.shape), strides, list(each.block)))
    return found


def launched(case: Case, *, check: bool = True) -> Arrays:
    """The arguments after the kernel has run on the host."""
    arrays = case.arrays()
    given = described(case, arrays, tw.TensorDescriptor)
    with tw.running(target="numpy", check_races=check):
        kernel(case)[case.grid](
            *given, *case.scalars.values(), **case.constants,
            num_warps=case.num_warps, num_stages=case.num_stages,
        )  # fmt: skip
    return arrays


def differences(found: Arrays, wanted: Arrays) -> list[str]:
    """Where arrays differ; the sign of a zero does not count."""
    lines: list[str] = []
    for name, array in found.items():
        right = wanted[name]
        same = array == right
        if not same.all():
            place = int(np.argwhere(~same)[0][0])
            lines.append(
                f"{name}[{place}] is {array[place]}, not {right[place]} ({int((~same).sum())} differ)"
            )
    return lines


def check(case: Case) -> list[str]:
    """All the ways in which the kernel of a case is not what its reference says."""
    return differences(launched(case), expected(case))
