"""Barriers of other CTAs, and synchronisation of the CTAs of a cluster.

Stock Triton has clusters in which all CTAs are one program. TLX's CTAs are programs of their own
that signal each other, so remote signals are assembly: the address of the same barrier
in another CTA (``mapa``), and an arrival there.

The CTAs of a kernel that accesses other CTAs synchronise after the initialisation of its barriers,
and at its end unless the kernel opts out. A cluster barrier takes *all* threads of all CTAs. In a
kernel with tasks every task therefore takes part::

    default warps      initialise, arrive | start tasks | wait ...        ... arrive, wait
    partition                             | arrive, wait ...              ... arrive

Triton rounds the warps of all partitions up to whole warp groups; idle warps would never reach a
cluster barrier, so they get a partition that does nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import DenseArrayBase, ModuleOp, i32
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from tilewright.dialects.tt import FuncOp
from tilewright.dialects.tt.base import ints_attr
from tilewright.dialects.ttg import BarrierOp
from tilewright.dialects.ttg.base import integers
from tilewright.dialects.ttg.context import PARTITION_NUM_WARPS, num_warps_at
from tilewright.dialects.ttg.program import ADDRESS_SPACES, InlineAsmOp, WarpIdOp
from tilewright.dialects.ttg.warps import WarpReturnOp, WarpSpecializeOp
from tilewright.dialects.ttng import ArriveBarrierOp, InitBarrierOp, MapToRemoteBufferOp
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk
from tilewright.passes.stock_triton.assembly import address_assembly, as_integer, braced
from tilewright.passes.tlx.fixup import USER_POST_WS_SYNC

_WARP_GROUP = 4
_IDLE_REGISTERS = 24

_PUBLISH = "fence.mbarrier_init.release.cluster;"
_ARRIVE = "barrier.cluster.arrive.release;"
_WAIT = "barrier.cluster.wait.acquire;"


def reaches_out(module: ModuleOp) -> bool:
    """Whether a CTA of `module` signals another one."""
    return any(is_remote(op) for op in walk(module))


def is_remote(op: Operation) -> bool:
    """Whether `op` accesses another CTA."""
    return isinstance(op, MapToRemoteBufferOp) or op.properties.get("two_ctas") is not None


def drop_unused_views(module: ModuleOp, rewriter: Rewriter) -> None:
    """Erase unused views of other CTAs' buffers: they access nothing."""
    for op in [op for op in walk(module) if isinstance(op, MapToRemoteBufferOp)]:
        if op.result.first_use is None:
            rewriter.erase(op)


# -- arrivals ------------------------------------------------------------------------------------


def arrive_remotely(op: ArriveBarrierOp, rewriter: Rewriter) -> None:
    """An arrival at the barrier of another CTA."""
    remote = op.alloc.owner
    assert isinstance(remote, MapToRemoteBufferOp)
    arguments: list[SSAValue] = [remote.src, remote.cta_rank]
    guard = "setp.eq.u32 p, 0, 0;"
    if op.pred is not None:
        flag = as_integer(op.pred)
        rewriter.insert_before(op, flag)
        arguments.append(flag.result)
        guard = "setp.ne.u32 p, $2, 0;"
    if (num_warps_at(op) or 1) > 1:
        rewriter.insert_before(op, BarrierOp(ADDRESS_SPACES["local"]))
    text = braced(
        ".reg .b32 there; .reg .pred p, e;",
        guard,
        *elected(op, arguments, rewriter),
        "mapa.shared::cluster.u32 there, $0, $1;",
        "@p mbarrier.arrive.release.cluster.shared::cluster.b64 _, [there], "
        f"{op.count.value.data};",
    )
    rewriter.replace_op(op, address_assembly(text, arguments))
    if remote.result.first_use is None:
        rewriter.erase(remote)


def elected(op: Operation, arguments: list[SSAValue], rewriter: Rewriter) -> Iterator[str]:
    """Lines that leave ``p`` true in one thread of the task only; `arguments` may grow."""
    if (num_warps_at(op) or 1) > 1:
        warp = WarpIdOp()
        rewriter.insert_before(op, warp)
        arguments.append(warp.result)
        yield f"setp.eq.and.u32 p, ${len(arguments) - 1}, 0, p;"
    yield "elect.sync _|e, 0xffffffff; and.pred p, p, e;"


# -- cluster barriers ----------------------------------------------------------------------------


def synchronise_clusters(module: ModuleOp, rewriter: Rewriter) -> None:
    """Synchronise the CTAs of a cluster after the initialisations, and at the end."""
    has_end = USER_POST_WS_SYNC not in module.attributes
    for kernel in [op for op in walk(module) if isinstance(op, FuncOp) and op.body.blocks]:
        tasks = [op for op in walk(kernel) if isinstance(op, WarpSpecializeOp)]
        inits = [op for op in walk(kernel) if isinstance(op, InitBarrierOp)]
        end = kernel.body.blocks[0].last_op
        if not inits or end is None:
            continue
        if not tasks:
            rewriter.insert_after(inits[-1], _assembly(_PUBLISH, _ARRIVE, _WAIT))
            if has_end:
                rewriter.insert_before(end, _assembly(_ARRIVE, _WAIT))
            continue
        _synchronise_in_tasks(tasks[0], inits[-1], has_end, rewriter)


def _synchronise_in_tasks(
    op: WarpSpecializeOp, last_init: Operation, has_end: bool, rewriter: Rewriter
) -> None:
    _occupy_all_warps(op, rewriter)
    rewriter.insert_after(last_init, _assembly(_PUBLISH, _ARRIVE))
    default = op.default_region.blocks[0]
    rewriter.insert(_assembly(_WAIT), InsertPoint.at_start(default), op)
    blocks = [region.blocks[0] for region in op.partitions]
    for block in blocks:
        rewriter.insert(_assembly(_ARRIVE, _WAIT), InsertPoint.at_start(block), op)
    if not has_end:
        return
    for block in blocks:
        _before_end(block, _assembly(_ARRIVE), rewriter)
    _before_end(default, _assembly(_ARRIVE, _WAIT), rewriter)


def _before_end(block: Block, new: Operation, rewriter: Rewriter) -> None:
    assert block.last_op is not None
    rewriter.insert_before(block.last_op, new)


def _assembly(*lines: str) -> InlineAsmOp:
    return address_assembly(" ".join(lines), [])


def _occupy_all_warps(op: WarpSpecializeOp, rewriter: Rewriter) -> None:
    """Add partitions until the warps of all of them make whole warp groups."""
    sizes = list(op.num_partition_warps)
    registers = op.requested_registers
    requested = None if registers is None else list(integers(registers))
    partitions = op.partition_op
    while sum(sizes) % _WARP_GROUP:
        missing = _WARP_GROUP - sum(sizes) % _WARP_GROUP
        size = missing & -missing
        partitions.add_region(_idle(partitions))
        sizes.append(size)
        if requested is not None:
            requested.append(_IDLE_REGISTERS)
    op.properties[PARTITION_NUM_WARPS] = ints_attr(sizes)
    if requested is not None:
        op.properties["requestedRegisters"] = DenseArrayBase.from_list(i32, requested)
    rewriter.modified(op)


def _idle(partitions: Operation) -> Region:
    block = Block([WarpReturnOp()], arg_types=list(partitions.operand_types))
    return Region(block)
