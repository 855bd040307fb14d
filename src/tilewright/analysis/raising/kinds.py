"""What each op of a pointer-level kernel is to the raising.

    STRUCTURAL   changes indices only: no code of its own
    ELEMENTWISE  one scalar op for each element
    TILE         an op on whole tiles: its operands and results are buffers
    MEMORY       accesses memory
    CONTROL      has regions with code
    TASKS        what ``tlx`` adds: buffers, barriers, tasks, asynchronous copies and GEMMs
    SCALAR       computes scalars, copied as it is

An op in none of them has no counterpart and refuses the kernel.
"""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from tilewright.dialects.tt import DotOp, DotScaledOp, PtrType, TensorDescType
from tilewright.dialects.ttng import WarpGroupDotOp
from tilewright.dialects.type_utils import element_type_of, is_tensor

STRUCTURAL = frozenset(
    f"tt.{name}"
    for name in (
        "splat",
        "make_range",
        "expand_dims",
        "broadcast",
        "trans",
        "reshape",
        "join",
        "split",
        "cat",
    )
) | {"ub.poison", "arith.constant"}

MEMORY = frozenset(
    f"tt.{name}"
    for name in (
        "load",
        "store",
        "atomic_rmw",
        "atomic_cas",
        "atomic_load",
        "atomic_store",
        "descriptor_load",
        "descriptor_store",
        "descriptor_reduce",
        "descriptor_gather",
        "descriptor_scatter",
    )
) | {
    "ttg.async_copy_global_to_local",
    "ttng.async_tma_copy_global_to_local",
    "ttng.async_tma_copy_local_to_global",
}

WRITES = MEMORY - {"tt.load", "tt.descriptor_load", "tt.descriptor_gather"}
"""Atomic loads are among them: they order other accesses. So do asynchronous copies."""

SYNCHRONISING = frozenset(
    (
        "ttg.async_commit_group",
        "ttg.async_wait",
        "ttng.arrive_barrier",
        "ttng.arrive_barrier_named",
        "ttng.async_tma_store_wait",
        "ttng.barrier_expect",
        "ttng.fence_async_shared",
        "ttng.init_barrier",
        "ttng.wait_barrier",
        "ttng.wait_barrier_named",
        "ttng.warp_group_dot_wait",
    )
)
"""Barriers and waits of tasks: nothing moves over them."""

BUFFERS = frozenset(
    (
        "tlx.reuse_group",
        "tlx.set_buffer_overlap",
        "tlx.storage_alias_local_alloc",
        "tlx.storage_alias_spec",
        "ttg.local_alloc",
        "ttg.memdesc_index",
        "ttg.memdesc_trans",
    )
)
"""Ops that make buffers in shared memory, or name parts of them."""

TASKS = (
    SYNCHRONISING
    | BUFFERS
    | {
        "ttg.local_load",
        "ttg.local_store",
        "ttg.warp_specialize",
        "ttg.warp_specialize.partitions",
        "ttng.warp_group_dot",
    }
)

TILE = frozenset(("tt.dot", "tt.dot_scaled", "tt.reduce", "tt.scan", "tt.histogram", "tt.gather"))

SchedulableGemm = DotOp | DotScaledOp
"""GEMMs that may be moved, and whose operands the raising puts into shared memory."""

Gemm = DotOp | DotScaledOp | WarpGroupDotOp
"""GEMMs: operands `a`, `b`, the accumulator `c`, the result `d`."""

BETWEEN_KERNELS = frozenset(("tt.grid_dependency_wait", "tt.grid_dependency_launch_dependents"))
"""Programmatic dependent launch: nothing moves over these either."""

EFFECTS = (
    frozenset(("tt.assert", "tt.print", "ttg.barrier", "gpu.barrier"))
    | SYNCHRONISING
    | BETWEEN_KERNELS
    | {"ttg.local_store"}
)

CONTROL = frozenset(("scf.for", "scf.while", "scf.if"))

POINTERS = frozenset(
    f"tt.{name}"
    for name in ("addptr", "make_tensor_descriptor", "make_tensor_ptr", "advance", "int_to_ptr")
)

TERMINATORS = frozenset(
    (
        "scf.yield",
        "scf.condition",
        "tt.return",
        "tt.reduce.return",
        "tt.scan.return",
        "ttg.warp_yield",
        "ttg.warp_return",
    )
)

DROPPED = frozenset(("llvm.intr.assume",))

_HEAVY = frozenset(
    (
        "arith.divf",
        "arith.remf",
        "arith.divsi",
        "arith.divui",
        "arith.remsi",
        "arith.remui",
        "tt.precise_divf",
        "tt.precise_sqrt",
        "tt.extern_elementwise",
    )
)

_OTHER_ELEMENTWISE = frozenset(
    f"tt.{name}"
    for name in (
        "bitcast",
        "fp_to_fp",
        "clampf",
        "precise_sqrt",
        "precise_divf",
        "approx_divf",
        "mulhiui",
        "extern_elementwise",
    )
)


def is_elementwise(op: Operation) -> bool:
    name = op.name
    if name.startswith(("arith.", "math.")):
        return name != "arith.constant"
    return name in _OTHER_ELEMENTWISE


def is_heavy(op: Operation) -> bool:
    """Whether computing it again costs more than keeping it."""
    return op.name in _HEAVY or op.name.startswith("math.")


def is_data_tensor(value: SSAValue) -> bool:
    """Whether a value is a tensor of numbers."""
    return is_tensor(value.type) and not isinstance(element_type_of(value.type), PtrType)


def is_pointer(value: SSAValue) -> bool:
    """Whether a value is an address, a tensor of addresses or a descriptor."""
    return isinstance(element_type_of(value.type), PtrType) or isinstance(
        value.type, PtrType | TensorDescType
    )


def is_scalar(value: SSAValue) -> bool:
    return not is_tensor(value.type) and not is_pointer(value)
