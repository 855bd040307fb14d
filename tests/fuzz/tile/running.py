"""Trace a generated kernel, run it in any form, and evaluate its reference."""

from __future__ import annotations

import linecache
from collections.abc import Iterator

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from tests.fuzz.tile import reference as support
from tests.fuzz.tile.generator import Case
from tilewright.dialects.func import FuncOp
from tilewright.dialects.tile import PipelineOp
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk
from tilewright.ir.verify import verify
from tilewright.language.T.eager import Eager
from tilewright.language.T.prim_func import PrimFunc
from tilewright.passes.tile.pipeline import TilePipeline
from tilewright.targets.numpy import Buffer
from tilewright.targets.numpy.tile import TileOptions, compile_tile_module

_FORMS = (TilePipeline(check_races=True), TilePipeline(check_races=True, warp_specialize=False))
_NAMES = [each.name for each in _FORMS[0].passes()]
_FIRST = _NAMES.index("specialize-warps")
FRONT_HALF = _FORMS[0].passes()[:_FIRST]
ROLES = _FORMS[0].passes()[_FIRST:]
PIPELINED = _FORMS[1].passes()[_FIRST:]

Arrays = dict[str, np.ndarray]


def _defined(name: str, source: str, namespace: dict[str, object]) -> dict[str, object]:
    """Execute generated text so that tracebacks and the frontend find its lines."""
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    exec(compile(source, name, "exec"), namespace)
    return namespace


def expected(case: Case) -> Arrays:
    """The arguments after the reference has run."""
    namespace: dict[str, object] = {"np": np, **vars(support)}
    found = _defined(f"<reference of {case.label}>", case.reference, namespace)
    arrays = case.arrays()
    with np.errstate(all="ignore"):
        found["reference"](*arrays.values())  # type: ignore[operator]
    return arrays


def traced(case: Case) -> PrimFunc:
    namespace = _defined(f"<kernel of {case.label}>", case.source, {"__name__": "generated"})
    if case.form == "eager":
        return Eager(namespace["kernel"]).trace(*case.arrays().values())  # type: ignore[arg-type]
    return namespace["make"]()  # type: ignore[operator]


def launched(case: Case, module: ModuleOp, schedules: int = 1) -> Arrays:
    """The arguments after the module has run."""
    arrays = case.arrays()
    arguments = [Buffer(name, array) for name, array in arrays.items()]
    options = TileOptions(schedules=schedules, seed=case.seed % 7)
    compile_tile_module(module.clone()).launch(arguments, options)
    return arrays


def changed(module: ModuleOp, each: Pass) -> bool:
    """Run one pass, which must find nothing wrong; whether it changed anything that runs."""
    before = _fingerprint(module)
    engine = DiagnosticEngine()
    each.run(module, engine)
    engine.raise_if_errors()
    if _fingerprint(module) == before:
        return False
    verify(module, engine)
    engine.raise_if_errors()
    return True


def _fingerprint(module: ModuleOp) -> list[object]:
    """The ops of all functions as they are in memory; what a function says of itself is left out.

    Only for modules that are changed in place: an op that is left alone stays the same object.
    """
    return [
        (op, tuple(op.operands), tuple(op.properties.items()), tuple(op.attributes.items()))
        for op in walk(module)
        if not isinstance(op, (ModuleOp, FuncOp))
    ]


def forms(module: ModuleOp) -> Iterator[tuple[str, ModuleOp, bool]]:
    """The kernel after each pass of the front half, pipelined, and in roles, where it differs.

    With each comes whether it has several legal orders of events.
    """
    for each in FRONT_HALF:
        if changed(module, each):
            yield f"after {each.name}", module, False
    if not any(isinstance(op, PipelineOp) for op in walk(module)):
        return
    copy = module.clone()
    has_roles = changed(copy, ROLES[0])
    if has_roles:
        for each in ROLES[1:]:
            changed(copy, each)
        yield "in roles", copy, True
    for each in PIPELINED:
        changed(module, each)
    yield "pipelined", module, True


def differences(found: Arrays, wanted: Arrays, *, bitwise: bool = True) -> list[str]:
    """Where arrays differ; the sign of a zero counts only bit by bit."""
    return [
        line
        for name, array in found.items()
        if (line := _difference(name, array, wanted[name], bitwise))
    ]


def _difference(name: str, found: np.ndarray, wanted: np.ndarray, bitwise: bool) -> str:
    if bitwise:
        same = _bits(found) == _bits(wanted)
    else:
        same = (found == wanted) | ((found != found) & (wanted != wanted))
    if same.all():
        return ""
    place = tuple(int(each) for each in np.argwhere(~same)[0])
    count = int((~same).sum())
    return f"{name}{list(place)} is {found[place]}, not {wanted[place]} ({count} differ)"


def _bits(array: np.ndarray) -> np.ndarray:
    return array.view(f"u{array.dtype.itemsize}")


def check(case: Case, schedules: int = 2) -> list[str]:
    """All the ways in which the kernel of a case is not what its reference says."""
    wanted = expected(case)
    module = traced(case).module
    plain = launched(case, module)
    problems = [f"traced: {each}" for each in differences(plain, wanted, bitwise=False)]
    for label, form, is_concurrent in forms(module.clone()):
        found = launched(case, form, schedules if is_concurrent else 1)
        problems += [f"{label}: {each}" for each in differences(found, plain)]
    return problems
