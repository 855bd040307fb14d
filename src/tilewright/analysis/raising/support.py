"""Which ops have a form at tile level, and the reason for those that have none.

One entry for each op that needs a closer look; an op in no table of ``kinds`` has no counterpart.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from xdsl.dialects.builtin import (
    AnyFloat,
    Float32Type,
    IntegerType,
)
from xdsl.ir import Operation

from tilewright.analysis.raising.combiners import foreign_op
from tilewright.analysis.raising.constants import splat_attribute
from tilewright.analysis.raising.extern import library_name
from tilewright.analysis.raising.kinds import (
    CONTROL,
    DROPPED,
    EFFECTS,
    MEMORY,
    POINTERS,
    STRUCTURAL,
    TASKS,
    TERMINATORS,
    TILE,
    is_data_tensor,
    is_elementwise,
    is_pointer,
)
from tilewright.analysis.raising.refusals import (
    CONTROL_FLOW,
    DOT,
    ELEMENT_TYPE,
    NO_COUNTERPART,
    POINTER_FROM_DATA,
    Refusals,
)
from tilewright.dialects.scf import WhileOp
from tilewright.dialects.tile.scaled import FORMATS
from tilewright.dialects.tlx import ReuseGroupType, StorageAliasSpecType
from tilewright.dialects.tt import (
    AtomicCASOp,
    AtomicRMWOp,
    DotOp,
    DotScaledOp,
    ExternElementwiseOp,
    FpToFpOp,
    FuncOp,
    LoadOp,
    ReduceOp,
    ScanOp,
    StoreOp,
)
from tilewright.dialects.tt.enums import ROUNDING, SCALE_DOT_ELEM_TYPE
from tilewright.dialects.ttg import AsyncTokenType, MemDescType
from tilewright.dialects.type_utils import (
    bit_width,
    element_type_of,
    encoding_of,
    is_tensor,
    num_elements,
    rank_of,
)

_SCALARS = frozenset(("tt.get_program_id", "tt.get_num_programs", "ub.poison"))
_ALL = (
    STRUCTURAL
    | MEMORY
    | TILE
    | TASKS
    | EFFECTS
    | CONTROL
    | POINTERS
    | TERMINATORS
    | DROPPED
    | _SCALARS
)

_TASK_TYPES = (MemDescType, AsyncTokenType, StorageAliasSpecType, ReuseGroupType)
"""Buffers of tasks: no values."""

_MISSING = {
    "tt.atomic_poll": "polling has no tile op",
    "tt.elementwise_inline_asm": "inline assembly has no tile op",
    "tt.map_elementwise": "tt.map_elementwise has no tile op",
    "tlx.require_layout": "a layout that the user made",
    "tlx.local_alias": "a buffer that is another one in another shape (reuse=buffer)",
    "ttg.memdesc_subslice": "a part of a buffer",
    "ttg.memdesc_reshape": "a buffer in another shape",
    "ttg.memdesc_reinterpret": "a buffer as other elements",
    "ttng.map_to_remote_buffer": "a buffer of another CTA",
    "ttng.async_tma_reduce": "a reduction by TMA",
    "ttng.async_tma_gather": "a gather by TMA",
    "ttng.async_tma_scatter": "a scatter by TMA",
}

_MISSING_GROUPS = (
    ("ttng.tmem_", "tensor memory ({name})"),
    ("ttng.tc_gen5_", "a GEMM of tensor memory ({name})"),
    ("ttng.cluster_", "clusters ({name})"),
    ("nvg.cluster_", "clusters ({name})"),
    ("ttg.async_remote", "memory of another CTA ({name})"),
    ("ttg.remote", "memory of another CTA ({name})"),
)
"""Ops of GPUs that no code is generated for, by the start of their names."""


def check_ops(function: FuncOp, refusals: Refusals) -> None:
    """Add a refusal for each op that cannot be raised."""
    if len(function.body.blocks) != 1:
        refusals.add(
            CONTROL_FLOW,
            function,
            "jumps between blocks that join or form a cycle",
            "use if and for statements with one return",
        )
        return
    for op in function.body.block.walk():
        _check(op, refusals)


def _check(op: Operation, refusals: Refusals) -> None:
    if op.parent_op() is not None and isinstance(op.parent_op(), ReduceOp | ScanOp):
        return
    if op.name == "tt.ptr_to_int" or (op.name == "tt.int_to_ptr" and is_tensor(op.results[0].type)):
        what = (
            "an address is used as an integer"
            if op.name == "tt.ptr_to_int"
            else ("each element has an address of its own")
        )
        refusals.add(
            POINTER_FROM_DATA,
            op,
            f"{what} ({op.name})",
            "pass the array as an argument of the kernel, or one address for all elements",
        )
        return
    if op.name not in _ALL and not is_elementwise(op):
        reason = _missing(op.name)
        refusals.add(NO_COUNTERPART, op, reason, "rewrite it with ops that tiles have, or keep it")
        return
    if op.name.startswith("cf."):
        refusals.add(CONTROL_FLOW, op, "a jump", "use if and for statements")
        return
    check = _CHECKS.get(op.name)
    if check is not None:
        check(op, refusals)
    _check_types(op, refusals)


def _missing(name: str) -> str:
    """Why there is no tile op."""
    for start, reason in _MISSING_GROUPS:
        if name.startswith(start):
            return reason.format(name=name)
    return _MISSING.get(name, f"'{name}' has no counterpart at tile level")


def _check_types(op: Operation, refusals: Refusals) -> None:
    for result in op.results:
        element = element_type_of(result.type)
        if is_pointer(result) or isinstance(result.type, _TASK_TYPES):
            continue
        layout = encoding_of(result.type) if is_tensor(result.type) else None
        if layout is not None:
            refusals.add(
                NO_COUNTERPART,
                op,
                f"a layout that assigns elements to threads already: '{layout}'",
                "leave layouts to the compiler",
            )
        if not isinstance(element, AnyFloat | IntegerType):
            refusals.add(
                ELEMENT_TYPE,
                op,
                f"elements of type '{element}' are not supported in tiles",
                "convert them to an integer or float type",
            )


# Single ops.


def _check_constant(op: Operation, refusals: Refusals) -> None:
    if is_data_tensor(op.results[0]) and splat_attribute(op) is None:
        refusals.add(
            NO_COUNTERPART,
            op,
            "a constant tensor whose elements differ",
            "compute the elements from their index, or load them",
        )


def _check_combiner(op: Operation, refusals: Refusals) -> None:
    assert isinstance(op, ReduceOp | ScanOp)
    foreign = foreign_op(op)
    if foreign is not None:
        refusals.add(
            NO_COUNTERPART,
            op,
            f"'{foreign.name}' in the combiner of a reduction or scan",
            "combine with arithmetic alone: tl.where instead of branches, no memory",
        )


def _check_dot(op: Operation, refusals: Refusals) -> None:
    assert isinstance(op, DotOp)
    a, b, c = (element_type_of(value.type) for value in (op.a, op.b, op.d))
    if isinstance(a, AnyFloat) and bit_width(a) == 8 and not {str(a), str(b)} <= {*_FP8}:
        _refuse_dot(op, f"operands of type '{a}'", refusals)
    if a != b and not (bit_width(a) == bit_width(b) == 8):
        _refuse_dot(op, f"operands of types '{a}' and '{b}'", refusals)
    if bit_width(c) < bit_width(a):
        _refuse_dot(op, f"an accumulator of type '{c}'", refusals)


_FP8 = ("f8E4M3FN", "f8E5M2")


def _refuse_dot(op: Operation, reason: str, refusals: Refusals) -> None:
    refusals.add(
        DOT,
        op,
        f"{reason}: no such GEMM at tile level",
        "use f16, bf16, f32, fp8 or int8 operands",
    )


def _check_scaled_dot(op: Operation, refusals: Refusals) -> None:
    assert isinstance(op, DotScaledOp)
    for elements in (op.a_elem_type, op.b_elem_type):
        format = SCALE_DOT_ELEM_TYPE.keyword(elements)
        if format not in FORMATS.keywords:
            _refuse_dot(op, f"scaled operands in format {format}", refusals)
    if rank_of(op.d.type) != 2:
        _refuse_dot(op, "a batch of scaled matrices", refusals)
    if element_type_of(op.d.type) != Float32Type():
        _refuse_dot(op, f"a scaled GEMM with result '{element_type_of(op.d.type)}'", refusals)
    for scale in (op.a_scale, op.b_scale):
        if scale is not None and num_elements(scale.type) == 1:
            _refuse_dot(op, "one scale for a whole operand", refusals)


def _check_load(op: Operation, refusals: Refusals) -> None:
    assert isinstance(op, LoadOp)
    if is_pointer(op.result):
        refusals.add(
            POINTER_FROM_DATA,
            op,
            "a pointer is read from memory",
            "pass the array as an argument of the kernel",
        )


def _check_store(op: Operation, refusals: Refusals) -> None:
    assert isinstance(op, StoreOp)
    if is_pointer(op.value):
        refusals.add(
            POINTER_FROM_DATA, op, "a pointer is stored to memory", "store an index instead"
        )


def _check_extern(op: Operation, refusals: Refusals) -> None:
    assert isinstance(op, ExternElementwiseOp)
    if library_name(op) is None:
        refusals.add(
            NO_COUNTERPART,
            op,
            f"the device function '{op.symbol.data}' has no counterpart at tile level",
            "use a function of tl.math",
        )


def _check_conversion(op: Operation, refusals: Refusals) -> None:
    assert isinstance(op, FpToFpOp)
    rounding = "rtne" if op.rounding is None else ROUNDING.keyword(op.rounding)
    target = str(element_type_of(op.results[0].type))
    if rounding == "rs" or (rounding == "rtz" and target not in _HAVE_INFINITY):
        refusals.add(
            ELEMENT_TYPE,
            op,
            f"a conversion with rounding '{rounding}'",
            "round to nearest even, the default",
        )


_HAVE_INFINITY = ("f32", "f16", "bf16", "f8E5M2")


def _check_atomic(op: Operation, refusals: Refusals) -> None:
    assert isinstance(op, AtomicRMWOp | AtomicCASOp)
    if bit_width(element_type_of(op.val.type)) < 16:
        refusals.add(
            ELEMENT_TYPE,
            op,
            f"an atomic update of elements of type '{element_type_of(op.val.type)}'",
            "use elements of 16 bits or more",
        )


def _check_while(op: Operation, refusals: Refusals) -> None:
    assert isinstance(op, WhileOp)
    if any(is_pointer(argument) for argument in op.operands):
        _refuse_choice(op, "a while loop that carries a pointer", refusals)


def _refuse_choice(op: Operation, reason: str, refusals: Refusals) -> None:
    refusals.add(
        CONTROL_FLOW, op, reason, "carry an integer offset instead, and add it where it is used"
    )


_CHECKS: Mapping[str, Callable[[Operation, Refusals], None]] = {
    "arith.constant": _check_constant,
    "tt.reduce": _check_combiner,
    "tt.scan": _check_combiner,
    "tt.dot": _check_dot,
    "tt.dot_scaled": _check_scaled_dot,
    "tt.load": _check_load,
    "tt.store": _check_store,
    "tt.extern_elementwise": _check_extern,
    "tt.fp_to_fp": _check_conversion,
    "tt.atomic_rmw": _check_atomic,
    "tt.atomic_cas": _check_atomic,
    "scf.while": _check_while,
}
