"""AMD: the matrix instruction of a GEMM, how waves share its result, and the layouts of operands.

Rules: docs/design/layouts.md#gemm-instructions-of-amd. The table of the chip decides what there
is; a GEMM that none of its instructions does is `Infeasible`, with the shapes that the chip has.

32 x 32 is the first choice, 16 x 16 if a result is an operand of another GEMM: GEMMs of a chain
depend on each other, and shorter instructions leave less to wait for. Of both, one whose operands
are read 128 bits at a time is preferred, and of two depths the greater one.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache

from xdsl.dialects.builtin import Float64Type
from xdsl.ir import Attribute, SSAValue

from tilewright.analysis.layout_inference import feasible
from tilewright.analysis.layout_inference.feasible import Infeasible, type_name
from tilewright.analysis.layout_inference.gemm_chains import GemmChains, kernel_around
from tilewright.analysis.layout_inference.gemm_plan import GemmPlan
from tilewright.analysis.layout_inference.scopes import Threads
from tilewright.analysis.layout_inference.table import Table
from tilewright.dialects.amd.matrix import matrix_core, shapes_text
from tilewright.dialects.tile import AllocOp, GemmOp, RegionOp, Space, space_of
from tilewright.dialects.tile.access import base_of
from tilewright.dialects.type_utils import bit_width, element_type_of, shape_of
from tilewright.layouts.hardware.amd_chips import Chip, MatrixInstruction
from tilewright.layouts.hardware.matrix_core import MatrixCore

READ_BITS = 128
"""The widest read of a lane from LDS."""
_UNSIGNED = "uint"
_TABLES = 32
"""Layouts of recent GEMMs that are retained: kernels have the same ones many times."""


def choose(op: GemmOp, threads: Threads, chip: Chip) -> GemmPlan:
    """The instruction and the partition for a GEMM; raises `Infeasible`."""
    available = instructions_of(op, chip)
    feasible.check_threads(threads.count, chip.wave)
    chains = GemmChains(kernel_around(op))
    is_linked = chains.is_linked(op)
    found = [
        plan
        for each in sorted(available, key=lambda each: (each.m * (1 if is_linked else -1), -each.k))
        if (plan := _plan(op, each, threads, chip, chains, is_linked)) is not None
    ]
    if not found:
        raise _misfit(op, available, threads, chip)
    bits = bit_width(element_type_of(op.a.type))
    wide = [plan for plan in found if plan.k_width * bits >= READ_BITS]
    return (wide or found)[0]


def instructions_of(op: GemmOp, chip: Chip) -> tuple[MatrixInstruction, ...]:
    """The instructions for the types of a GEMM; raises `Infeasible` if there are none."""
    a, b, c = (element_type_of(each.type) for each in (op.a, op.b, op.c))
    available = chip.instructions_for(str(a), str(b))
    if not available:
        has = ", ".join(dict.fromkeys(_type_text(each) for each in chip.instructions))
        raise Infeasible(
            _no_instruction(chip, a, b),
            f"convert the operands to one of {has}, or multiply in a T.Parallel loop",
        )
    if str(c) != available[0].c:
        result = {"f32": "float32", "i32": "int32"}[available[0].c]
        raise Infeasible(
            f"matrix instructions with {type_name(a)} operands accumulate in {result}, the "
            f"accumulator is {type_name(c)}",
            f"accumulate in {result} and T.copy the result to {type_name(c)}",
        )
    if available[0].kind == "mfma" and any(map(_is_unsigned, (op.a, op.b))):
        raise Infeasible(
            f"{chip} multiplies signed bytes only, and an operand is uint8",
            "use int8 operands: subtract 128 from each element, and add 128 times each row or "
            "column total of the other operand to the result",
        )
    return available


def instruction_of(op: GemmOp, plan: GemmPlan, chip: Chip) -> MatrixInstruction:
    """The instruction that a plan has chosen."""
    a, b = (str(element_type_of(each.type)) for each in (op.a, op.b))
    return next(each for each in chip.instructions_for(a, b) if each.shape == plan.shape)


def _no_instruction(chip: Chip, a: Attribute, b: Attribute) -> str:
    if isinstance(a, Float64Type) and a == b and chip.instructions[0].kind == "mfma":
        return f"the float64 matrix instructions of {chip} are not supported"
    pair = type_name(a) if a == b else f"{type_name(a)} and {type_name(b)}"
    return f"{chip} has no matrix instruction for {pair} operands"


def _type_text(instruction: MatrixInstruction) -> str:
    names = {"f16": "float16", "bf16": "bfloat16", "f32": "float32", "i8": "int8"}
    names |= {"f8E4M3FN": "float8_e4m3fn", "f8E5M2": "float8_e5m2", "xf32": "float32"}
    names |= {"f8E4M3FNUZ": "float8_e4m3fnuz", "f8E5M2FNUZ": "float8_e5m2fnuz"}
    return names[instruction.a]


def _is_unsigned(operand: SSAValue) -> bool:
    owner = base_of(operand).owner
    return (
        isinstance(owner, AllocOp)
        and owner.dtype is not None
        and owner.dtype.data.startswith(_UNSIGNED)
    )


def _plan(
    op: GemmOp,
    instruction: MatrixInstruction,
    threads: Threads,
    chip: Chip,
    chains: GemmChains,
    is_linked: bool,
) -> GemmPlan | None:
    m, n, k = op.mnk
    # What stays in registers between two GEMMs needs the same rows in the same waves.
    policy = "full_row" if is_linked and op.policy.data == "square" else op.policy.data
    count, side = threads.count // chip.wave, instruction.m
    waves = partition(m, n, count, policy, side, chains.axes_in_parts(op))
    if waves is None or k % instruction.k:
        return None
    core = matrix_core(instruction)
    return GemmPlan(
        instruction.kind,
        waves,
        instruction.shape,
        transposed=_is_transposed(op, core, chains),
        k_width=_k_width(op, core, chains),
    )


def _is_transposed(op: GemmOp, core: MatrixCore, chains: GemmChains) -> bool:
    """Whether lanes hold neighbouring columns of a row: for wide stores, and for operand A.

    Where they never do (gfx11) it only serves rows that are reduced: those are in two lanes then,
    not in sixteen. A GEMM that takes such rows as its A has its own rows in the same lanes.
    """
    if chains.is_operand(op, transposed=True):
        return False
    return (
        core.run > 1
        or chains.is_operand(op, transposed=False)
        or chains.is_reduced_along_rows(op)
        or (op.transpose_a is None and chains.comes_from_gemm(base_of(op.a), staged=True))
    )


def _k_width(op: GemmOp, core: MatrixCore, chains: GemmChains) -> int:
    """As wide as one read; for an operand that was an accumulator, as lanes have that."""
    *_, k = op.mnk
    for operand in (op.a, op.b):
        is_held = space_of(operand.type) is Space.FRAGMENT
        if is_held and chains.comes_from_gemm(base_of(operand)) and core.is_k_width(core.run, k):
            return core.run
    return core.widest_k_width(bit_width(element_type_of(op.a.type)), k, READ_BITS)


def partition(
    m: int, n: int, waves: int, policy: str, side: int, parts: Collection[int] = ()
) -> tuple[int, int] | None:
    """Waves along rows and columns: as square as possible, or all on one side.

    Every wave has some of each part of a result that loops access in `parts` along a dimension:
    only then do all threads take part in them.
    """
    candidates = [
        (down, waves // down)
        for down in range(1, waves + 1)
        if waves % down == 0 and m % (down * side) == 0 and n % (waves // down * side) == 0
    ]
    if not candidates:
        return None
    shared = [each for each in candidates if all(each[axis] == 1 for axis in parts)]
    candidates = shared or candidates
    if policy == "full_row":
        return max(candidates)
    if policy == "full_col":
        return min(candidates)
    return min(candidates, key=lambda each: (abs(m / each[0] - n / each[1]), -each[0]))


def _misfit(
    op: GemmOp, available: tuple[MatrixInstruction, ...], threads: Threads, chip: Chip
) -> Infeasible:
    """Why none of the instructions does a GEMM, and the smallest change with which one does."""
    m, n, k = op.mnk
    shapes = f"{chip} has {shapes_text(available)} for {type_name(element_type_of(op.a.type))}"
    side, depth = min(each.m for each in available), min(each.k for each in available)
    for axis, size, unit in (("M", m, side), ("N", n, side), ("K", k, depth)):
        if size % unit:
            return Infeasible(
                f"{axis} = {size} is not a multiple of {unit}: {shapes}",
                f"use tiles with {axis} = {-(-size // unit) * unit}: T.copy pads with zeros past "
                "the end of the tensor",
            )
    waves = threads.count // chip.wave
    fitting = [each for each in available if k % each.k == 0]
    policy = op.policy.data
    if not any(m % each.m == 0 and n % each.n == 0 for each in fitting):
        deeper = min(each.k for each in available if each.m == side)
        return Infeasible(
            f"{m} x {n} x {k} is not made up of whole instructions: {shapes}",
            f"use tiles with K = {-(-k // deeper) * deeper}: T.copy pads with zeros past the end "
            "of the tensor",
        )
    fewer = next(
        (
            each
            for each in range(waves - 1, 0, -1)
            if any(partition(m, n, each, policy, one.m) is not None for one in fitting)
        ),
        None,
    )
    return Infeasible(
        f"{m} x {n} cannot be split over {waves} waves of {chip.wave} lanes: {shapes}",
        None if fewer is None else f"use threads={fewer * chip.wave} or a larger tile",
    )


def held_depth(op: GemmOp, *, is_a: bool) -> int:
    """The extent along K of the fragment that an operand is, or is a part of."""
    operand = op.a if is_a else op.b
    whole = operand.owner.base if isinstance(operand.owner, RegionOp) else operand
    rows, columns = shape_of(whole.type)[-2:]
    is_turned = (op.transpose_a if is_a else op.transpose_b) is not None
    return columns if is_a != is_turned else rows


# -- layouts -----------------------------------------------------------------------------------


@lru_cache(_TABLES)
def accumulator(shape: tuple[int, int], plan: GemmPlan, core: MatrixCore) -> Table:
    """The layout of the accumulator."""
    return Table.from_fragment(core.accumulator(shape, plan.warps, plan.transposed))


@lru_cache(_TABLES)
def operand_a(shape: tuple[int, int], plan: GemmPlan, core: MatrixCore) -> Table:
    """A in registers: every wave that has the row holds it."""
    return Table.from_fragment(core.operand_a(shape, plan.warps, plan.k_width))


@lru_cache(_TABLES)
def operand_b(shape: tuple[int, int], plan: GemmPlan, core: MatrixCore) -> Table:
    """B (rows along K) in registers: every wave that has the column holds it."""
    return Table.from_fragment(core.operand_b(shape, plan.warps, plan.k_width))
