"""The work of one op: its row in the plan's count of operations.

Integer arithmetic, arguments and pointers are not counted: the processors that execute them are
modelled by the cost of a call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from xdsl.ir import Operation, SSAValue

from tilewright.dialects.tensix import buffers, config, math, noc, sfpu
from tilewright.dialects.tensix.base import cb_type
from tilewright.dialects.tensix.work import OpWork
from tilewright.ir.interfaces import constant_integer


def work_of(op: Operation) -> OpWork | None:
    """What one execution of `op` does; None if that is not counted."""
    rule = RULES.get(op.name)
    return None if rule is None else rule(op)


def _page_bytes(*cbs: SSAValue) -> tuple[int, ...]:
    return tuple(cb_type(each).page_bytes for each in cbs)


def _call(kind: str, detail: str = "") -> Callable[[Any], OpWork]:
    return lambda op: OpWork(kind, detail, 1)


def _transfer(kind: str) -> Callable[[Any], OpWork]:
    return lambda op: OpWork(kind, _tensor(op.accessor), 1, (op.accessor.type.format.tile_bytes,))


def _tensor(accessor: SSAValue) -> str:
    """The name of a tensor in the plan."""
    op = accessor.owner
    if isinstance(op, noc.AccessorOp) and op.label is not None:
        return op.label.data
    return ""


def _mcast(op: noc.McastOp) -> OpWork:
    return OpWork("mcast", "", 1, (constant_integer(op.bytes) or 0,))


def _matmul_block(op: math.MatmulBlockOp) -> OpWork:
    columns, rows, _ = op.extents
    return OpWork("matmul_block", f"{rows}x{columns}", 1, _page_bytes(op.in0, op.in1))


def _two_tiles(op: math.TwoTilesOp) -> OpWork:
    key = op.init_key()
    return OpWork(key.kind, key.function, 1, _page_bytes(op.in0, op.in1))


def _one_tile(op: math.TileToDstOp) -> OpWork:
    return OpWork(op.KIND, "", 1, _page_bytes(op.cb))


def _sfpu(op: math.MathOp) -> OpWork:
    key = op.init_key()
    return OpWork("sfpu", key.function or key.kind, 1)


def _unary_scalar(op: sfpu.UnaryScalarOp) -> OpWork:
    return OpWork("sfpu", op.function.data, 1)


RULES: Mapping[str, Callable[[Any], OpWork]] = {
    **{
        each.name: _call("cb")
        for each in (buffers.CBReserveOp, buffers.CBPushOp, buffers.CBWaitOp, buffers.CBPopOp)
    },
    buffers.FillPageOp.name: _call("fill_page"),
    noc.NocReadTileOp.name: _transfer("noc_read"),
    noc.NocWriteTileOp.name: _transfer("noc_write"),
    noc.NocBarrierOp.name: lambda op: OpWork("noc_barrier", op.kind.data, 1),
    noc.McastOp.name: _mcast,
    **{
        each.name: _call("semaphore", each.name.removeprefix("tensix.sem_"))
        for each in (noc.SemSetOp, noc.SemIncOp, noc.SemWaitOp, noc.SemMcastOp)
    },
    **{
        each.name: _call("init")
        for each in (
            config.HwStartupOp,
            config.InitOp,
            config.ReconfigOp,
            config.PackReconfigOp,
            config.PackL1AccOp,
        )
    },
    math.MatmulTileOp.name: lambda op: OpWork("matmul_tile", "", 1, _page_bytes(op.in0, op.in1)),
    math.MatmulBlockOp.name: _matmul_block,
    math.BinaryOp.name: _two_tiles,
    math.BcastOp.name: _two_tiles,
    math.ReduceOp.name: _two_tiles,
    math.CopyTileOp.name: _one_tile,
    math.TransposeTileOp.name: _one_tile,
    sfpu.UnaryOp.name: _sfpu,
    sfpu.UnaryScalarOp.name: _unary_scalar,
    sfpu.BinaryDstOp.name: _sfpu,
    sfpu.WhereOp.name: _sfpu,
    sfpu.FillOp.name: _sfpu,
    sfpu.FillWordOp.name: _sfpu,
    sfpu.TypecastOp.name: _sfpu,
    sfpu.PackOp.name: lambda op: OpWork("pack", "", 1, _page_bytes(op.cb)),
}
