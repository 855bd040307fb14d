"""`lower-l2-policy`: what should stay in the L2 cache is checked, and said to be dropped.

    T.annotate_l2_hit_ratio({B: 0.8})    ->    remark[TW6015]: ... is not applied

A window of the L2 is a setting of the stream that a kernel runs on: it takes a part of the cache
from all other kernels of the process until it is reset. Launches here leave a stream as it was, so
the hint has no effect; results do not depend on it (`specs/passes.md` S9).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FloatAttr, ModuleOp
from xdsl.ir import Attribute

from tilewright.dialects.func import FuncOp
from tilewright.dialects.tile import Space, names, space_of
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass

BAD_RATIO, NOT_APPLIED = "TW6014", "TW6015"


@dataclass(frozen=True)
class LowerL2Policy(Pass):
    """Check hints about the L2 cache, and take them away."""

    name = "lower-l2-policy"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for function in module.body.ops:
            if not isinstance(function, FuncOp):
                continue
            attributes = function.properties.get("arg_attrs")
            if isinstance(attributes, ArrayAttr):
                each = [
                    _without_hint(function, number, given.data, engine)
                    for number, given in enumerate(attributes.data)
                    if isinstance(given, DictionaryAttr)
                ]
                function.properties["arg_attrs"] = ArrayAttr(each)


def _without_hint(
    function: FuncOp, number: int, given: Mapping[str, Attribute], engine: DiagnosticEngine
) -> DictionaryAttr:
    hint = given.get(names.L2_HIT_RATIO)
    if hint is None:
        return DictionaryAttr(given)
    argument = function.body.block.args[number]
    stated = given.get(names.NAME)
    name = str(getattr(stated, "data", "")) or argument.name_hint or f"argument {number}"
    ratio = hint.value.data if isinstance(hint, FloatAttr) else None
    if space_of(argument.type) is not Space.GLOBAL:
        engine.error(function, f"{name} is no tensor: the L2 holds global memory", BAD_RATIO)
    elif ratio is None or not 0 < ratio <= 1:
        said = ratio if ratio is not None else hint
        engine.error(
            function,
            f"the L2 hit ratio of {name} is a number above 0 and at most 1, got {said}",
            BAD_RATIO,
        )
    else:
        engine.remark(
            function,
            f"the L2 hit ratio {ratio:g} of {name} is not applied: launches set no window of the "
            "cache; results are the same",
            NOT_APPLIED,
        )
    return DictionaryAttr({key: value for key, value in given.items() if value is not hint})
