"""`lower-l2-policy`: L2 cache hints of a tensor become policies of its accesses.

    T.annotate_l2_hit_ratio({B: 0.8})    ->    %p = nv.l2_policy evict_last {fraction = 0.8}
                                               nv.tma_load %B_map[...] -> ... policy %p

The runtime's equivalent is a window: a range of addresses and a part of the cache that is reserved
for it. That is a setting of the stream and of the context, and takes the cache from every other
kernel until it is reset. A policy of the accesses means the same for this kernel alone: a part of
them, the ratio, is evicted last, the rest first. It is made once, where the kernel begins, and
given to every load, store and copy of the tensor (docs/design/passes.md#l2-policy; PTX ISA,
``createpolicy``). Results do not depend on it. ``eviction_policy`` of a TMA copy
becomes a policy too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FloatAttr, ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue

from tilewright.dialects.func import FuncOp
from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.nv import TensorMapOp
from tilewright.dialects.nv.cache import HintedLoadOp, HintedStoreOp, L2PolicyOp
from tilewright.dialects.nv.tma import TmaLoadOp
from tilewright.dialects.simt import LaunchOp
from tilewright.dialects.simt.moves import Hintable
from tilewright.dialects.simt.target import amd_chip_of
from tilewright.dialects.tile import Space, names, space_of
from tilewright.dialects.tile.access import base_of
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk
from tilewright.passes.gpu.arch import arch_name, arch_of

BAD_RATIO, NOT_APPLIED = "TW6014", "TW6015"
_AMPERE = 80
"""The first architecture whose accesses take policies."""
_NORMAL = "evict_normal"
"""What the cache does anyway."""


@dataclass(frozen=True)
class _Hint:
    """The hint of the user for a tensor."""

    name: str
    ratio: float

    def __str__(self) -> str:
        return f"the L2 hit ratio {self.ratio:g} of {self.name}"


@dataclass(frozen=True)
class LowerL2Policy(Pass):
    """Give accesses the L2 cache policies that the user requests."""

    name = "lower-l2-policy"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        functions = [op for op in module.body.ops if isinstance(op, FuncOp)]
        hints: dict[SSAValue, _Hint] = {}
        for function in functions:
            hints |= _taken_from(function, engine)
        kernels = {function.sym_name.data: function for function in functions}
        for launch in list(walk(module)):
            if isinstance(launch, LaunchOp):
                kernel = kernels[launch.kernel.string_value()]
                pairs = zip(kernel.body.block.args, launch.arguments, strict=True)
                passed: dict[SSAValue, _Hint] = {
                    argument: hint
                    for argument, value in pairs
                    if (hint := hints.get(_tensor(value))) is not None
                }
                _Kernel(kernel, passed).apply(engine)


def _taken_from(function: FuncOp, engine: DiagnosticEngine) -> dict[SSAValue, _Hint]:
    """The hints about the arguments of a function, which then has none."""
    attributes = function.properties.get("arg_attrs")
    if not isinstance(attributes, ArrayAttr):
        return {}
    found: dict[SSAValue, _Hint] = {}
    rest: list[Attribute] = []
    for argument, given in zip(function.body.block.args, attributes.data, strict=True):
        if isinstance(given, DictionaryAttr) and names.L2_HIT_RATIO in given.data:
            hint = _checked(function, argument, given.data, engine)
            if hint is not None:
                found[argument] = hint
            remaining = {key: each for key, each in given.data.items() if key != names.L2_HIT_RATIO}
            given = DictionaryAttr(remaining)
        rest.append(given)
    function.properties["arg_attrs"] = ArrayAttr(rest)
    return found


def _checked(
    function: FuncOp, argument: SSAValue, given: Mapping[str, Attribute], engine: DiagnosticEngine
) -> _Hint | None:
    hint, stated = given[names.L2_HIT_RATIO], given.get(names.NAME)
    name = str(getattr(stated, "data", "")) or argument.name_hint or "an argument"
    ratio = hint.value.data if isinstance(hint, FloatAttr) else None
    if space_of(argument.type) is not Space.GLOBAL:
        engine.error(
            function,
            f"L2 hit ratio of {name}: not a tensor; L2 policies apply to global memory only",
            BAD_RATIO,
        )
        return None
    if ratio is None or not 0 < ratio <= 1:
        stated_ratio = ratio if ratio is not None else hint
        engine.error(
            function,
            f"L2 hit ratio of {name} must be above 0 and at most 1, got {stated_ratio}",
            BAD_RATIO,
        )
        return None
    return _Hint(name, ratio)


def _tensor(value: SSAValue) -> SSAValue:
    """The argument of the host function that a kernel argument comes from."""
    owner = value.owner
    return base_of(owner.tensor if isinstance(owner, TensorMapOp) else value)


class _Kernel:
    """One kernel, its hints, and their policies."""

    def __init__(self, function: FuncOp, hints: Mapping[SSAValue, _Hint]) -> None:
        self.function = function
        self.hints = hints
        self.policies: dict[tuple[str, float], SSAValue] = {}

    def apply(self, engine: DiagnosticEngine) -> None:
        if amd_chip_of(self.function) is not None:
            for hint in self.hints.values():
                reason = f"accesses take no L2 policy on {arch_name(self.function)}"
                engine.remark(self.function, f"{hint} not applied: {reason}", NOT_APPLIED)
            return
        arch = arch_of(self.function)
        if arch < _AMPERE:
            for hint in self.hints.values():
                reason = f"L2 policies require sm_{_AMPERE}, the target is sm_{arch}"
                engine.remark(self.function, f"{hint} not applied: {reason}", NOT_APPLIED)
            return
        left: Counter[_Hint] = Counter()
        for op in list(walk(self.function)):
            if isinstance(op, TmaLoadOp) and op.eviction_policy is not None:
                # The user's choice for this very copy.
                if op.eviction_policy.data != _NORMAL:
                    op.set_policy(self._policy(op.eviction_policy.data, 1.0))
                continue
            hint = self._hint(op)
            if hint is not None and not self._give(op, hint):
                left[hint] += 1
        for hint, count in left.items():
            engine.remark(
                self.function,
                f"{hint} not applied to {count} of its accesses: atomic updates and "
                "external code take no L2 policy",
                NOT_APPLIED,
            )

    def _hint(self, op: Operation) -> _Hint | None:
        """The hint about the tensor that an op accesses."""
        if not self.hints or _is_view(op):
            return None
        found = (self.hints.get(base_of(operand)) for operand in op.operands)
        return next((hint for hint in found if hint is not None), None)

    def _give(self, op: Operation, hint: _Hint) -> bool:
        """Give an access its policy; whether it takes one."""
        if not isinstance(op, Hintable | LoadOp | StoreOp):
            return False
        policy = self._policy("evict_last", hint.ratio)
        if isinstance(op, Hintable):
            op.set_policy(policy)
        elif isinstance(op, LoadOp):
            _replace(op, HintedLoadOp(op.memref, op.indices, policy))
        else:
            _replace(op, HintedStoreOp(op.value, op.memref, op.indices, policy))
        return True

    def _policy(self, priority: str, fraction: float) -> SSAValue:
        found = self.policies.get((priority, fraction))
        if found is None:
            block = self.function.body.block
            made = L2PolicyOp(priority, fraction)
            made.location = self.function.location
            made.result.name_hint = "policy"
            last = next((each.owner for each in reversed(self.policies.values())), None)
            if isinstance(last, Operation):
                block.insert_op_after(made, last)
            else:
                first = block.first_op
                assert first is not None, "a kernel ends with a return"
                block.insert_op_before(made, first)
            found = self.policies[priority, fraction] = made.result
        return found


def _is_view(op: Operation) -> bool:
    return any(base_of(result) is not result for result in op.results)


def _replace(op: Operation, other: Operation) -> None:
    block = op.parent
    assert block is not None
    other.location = op.location
    block.insert_op_before(other, op)
    for old, new in zip(op.results, other.results, strict=True):
        new.name_hint = old.name_hint
        old.replace_all_uses_with(new)
    op.detach()
    op.erase()
