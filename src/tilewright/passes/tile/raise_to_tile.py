"""Raise kernels on pointers (``tl``) to kernels on tiles.

A ``tt.func`` whose addresses are understood becomes a ``func.func`` with a ``tile.kernel``:
pointers become tensors, tensors of pointers become boxes of them, values become fragments and
shared buffers. A kernel that cannot be raised stays as it is, and remarks TW80nn give every reason.

    prepare    inline calls, structure returns, canonicalize
    plan       ``analysis/raising``: what each access, value and loop becomes
    emit       ``passes/raising``: the new function

The raised kernel computes the same bits, with the same launch grid; the sizes of the grid are its
last parameters.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, IntegerType, ModuleOp

from tilewright.analysis.raising import RaisePlan, Refusal, plan_raising
from tilewright.analysis.raising.assumptions import Assumption, assumptions_of
from tilewright.analysis.raising.check import check_boxes
from tilewright.analysis.raising.planner import SHARED_BYTES
from tilewright.dialects.tile.names import DIVISIBILITY as STATED
from tilewright.dialects.tt import CallOp, FuncOp, PtrType, TensorDescType
from tilewright.dialects.type_utils import bit_width
from tilewright.ir.collector import collector_paused
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk
from tilewright.passes.cleanup.canonicalize import canonicalize
from tilewright.passes.cleanup.cse import eliminate_common_subexpressions
from tilewright.passes.cleanup.dce import eliminate_dead_code
from tilewright.passes.raising.function import GRID, raise_function
from tilewright.passes.raising.hints import spread_hints
from tilewright.passes.raising.prepare import prepare
from tilewright.passes.raising.wide_multiplications import share_wide_multiplications

DIVISIBILITY = "tt.divisibility"
TMA_BYTES = 16
BYTE = 8


@dataclass(frozen=True)
class RaiseOptions:
    """What the launch decides."""

    num_warps: int = 4
    num_stages: int = 3
    shared_bytes: int = SHARED_BYTES
    """What a block may have of shared memory."""
    whole_rows: bool = False
    """Whether rows of descriptors are multiples of 16 bytes: then TMA can store tiles of them."""


@dataclass(frozen=True)
class RaisedKernel:
    """A kernel on tiles, and what a launch has to know about it."""

    module: ModuleOp = field(compare=False)
    name: str
    num_warps: int
    num_stages: int
    parameters: tuple[str, ...]
    """In order, without the grid."""
    grid: tuple[str, ...]
    """The parameters that take the sizes of the grid, after all others."""
    divisible: tuple[tuple[str, int], ...]
    """Parameters that are divisible in every launch: name and divisor."""
    assumptions: tuple[Assumption, ...]
    """Integers that must fit their type, or else addresses differ from the kernel's own."""
    plan: RaisePlan = field(compare=False, repr=False)
    not_null: frozenset[int] = frozenset()
    """The positions of pointers that are tested; those of a launch are not null."""


@dataclass(frozen=True)
class NotRaised:
    """Why a kernel stays on pointers."""

    name: str
    refusals: tuple[Refusal, ...]


def raise_module(module: ModuleOp, options: RaiseOptions | None = None) -> RaisedKernel | NotRaised:
    """Raise the kernel of `module`, which stays as it is.

    Raises ``ValueError`` if the module has no kernel, or several.
    """
    options = options or RaiseOptions()
    with collector_paused():
        return _raised(module, options)


def _raised(module: ModuleOp, options: RaiseOptions) -> RaisedKernel | NotRaised:
    copy = module.clone()
    not_null = prepare(copy)
    kernels = _kernels(copy)
    if len(kernels) != 1:
        raise ValueError(f"expected one kernel in the module, got {len(kernels)}")
    (function,) = kernels
    spread_hints(function)
    plan = plan_raising(function, options.num_stages, options.shared_bytes, options.num_warps)
    name = function.sym_name.data
    if not plan.is_raised:
        return NotRaised(name, plan.refusals)
    plan.verify()
    problems = check_boxes(plan)
    if problems:
        raise ValueError(f"the plan of '{name}' is wrong: {problems[0]}")
    raised = ModuleOp([raise_function(plan)])
    clean(raised)
    _state_multiples(raised, _multiples(function, whole_rows=options.whole_rows))
    names = [argument.name_hint or f"arg{argument.index}" for argument in function.body.block.args]
    return RaisedKernel(
        raised,
        name,
        options.num_warps,
        options.num_stages,
        tuple(names),
        GRID,
        _divisible(function, names),
        assumptions_of(plan),
        plan,
        not_null,
    )


def _state_multiples(raised: ModuleOp, multiples: dict[int, int]) -> None:
    """State what arguments are multiples of in every launch."""
    (made,) = raised.body.block.ops
    after = made.properties.get("arg_attrs")
    assert isinstance(after, ArrayAttr)
    attributes = [each for each in after.data if isinstance(each, DictionaryAttr)]
    for index, divisor in multiples.items():
        stated = IntegerAttr(divisor, IntegerType(32))
        attributes[index] = DictionaryAttr({**attributes[index].data, STATED: stated})
    made.properties["arg_attrs"] = ArrayAttr(attributes)


def _multiples(function: FuncOp, *, whole_rows: bool) -> dict[int, int]:
    """What divides arguments, by index: integers, and the addresses of pointers in bytes.

    The specialisation of a launch finds multiples of 16; another address is a multiple of its
    elements only. A descriptor is followed by its shape and its strides; strides are multiples of
    16 bytes, as TMA requires.
    """
    found: dict[int, int] = {}
    arguments = function.body.block.args
    for index, divisor in _divisible_arguments(function):
        if isinstance(arguments[index].type, IntegerType):
            found[index] = divisor
    stated = dict(_divisible_arguments(function))
    for index, argument in enumerate(arguments):
        if isinstance(argument.type, PtrType) and argument.index not in stated:
            pointee = argument.type.pointee
            if not isinstance(pointee, PtrType):
                found[index] = max(bit_width(pointee) // BYTE, 1)
        if isinstance(argument.type, TensorDescType):
            rank = len(argument.type.shape)
            elements = max(TMA_BYTES * BYTE // bit_width(argument.type.element_type), 1)
            strides = index + 1 + rank
            found.update(dict.fromkeys(range(strides, strides + rank - 1), elements))
            if whole_rows:
                found[strides - 1] = elements
    return found


def clean(module: ModuleOp) -> None:
    """Drop what the emitters computed twice, and what nothing uses."""
    rewriter = Rewriter()
    canonicalize(module)
    eliminate_common_subexpressions(module, rewriter)
    share_wide_multiplications(module)
    eliminate_dead_code(module, rewriter)


def _kernels(module: ModuleOp) -> list[FuncOp]:
    return [op for op in module.body.block.ops if isinstance(op, FuncOp) and not op.is_declaration]


def _divisible(function: FuncOp, names: list[str]) -> tuple[tuple[str, int], ...]:
    return tuple((names[index], divisor) for index, divisor in _divisible_arguments(function))


def _divisible_arguments(function: FuncOp) -> Iterator[tuple[int, int]]:
    """Arguments by index, and what the specialisation of a launch found to divide them."""
    attributes = function.properties.get("arg_attrs")
    for index, each in enumerate(attributes.data if isinstance(attributes, ArrayAttr) else ()):
        known = each.data.get(DIVISIBILITY) if isinstance(each, DictionaryAttr) else None
        if isinstance(known, IntegerAttr):
            yield index, known.value.data


@dataclass(frozen=True)
class RaiseToTile(Pass):
    """Raise kernels on pointers to kernels on tiles; remark what cannot be raised."""

    name = "raise-to-tile"

    num_warps: int = 4
    """Warps of a block."""
    num_stages: int = 3
    """Buffers in flight of pipelined loops without a count of their own."""

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for function in _kernels(module):
            if function.sym_visibility is not None and function.sym_visibility.data != "public":
                continue
            alone = _alone(module, function)
            result = raise_module(alone, RaiseOptions(self.num_warps, self.num_stages))
            if isinstance(result, NotRaised):
                for refusal in result.refusals:
                    refusal.report(engine)
                continue
            for remark in result.plan.remarks:
                remark.report_slow(engine)
            (raised,) = list(result.module.body.block.ops)
            raised.detach()
            Rewriter().replace_op(function, raised, [])
        _drop_uncalled(module)


def _drop_uncalled(module: ModuleOp) -> None:
    """Remove functions that only raised kernels called."""
    called = {op.callee.string_value() for op in walk(module) if isinstance(op, CallOp)}
    for function in _kernels(module):
        visibility = function.sym_visibility
        is_private = visibility is not None and visibility.data != "public"
        if is_private and function.sym_name.data not in called:
            Rewriter().erase(function)


def _alone(module: ModuleOp, kernel: FuncOp) -> ModuleOp:
    """A module with one kernel and the functions it may call."""
    functions = [
        op.clone()
        for op in module.body.block.ops
        if op is kernel
        or (
            isinstance(op, FuncOp)
            and op.sym_visibility is not None
            and op.sym_visibility.data != "public"
        )
    ]
    return ModuleOp(functions)
