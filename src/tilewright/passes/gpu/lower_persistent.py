"""`lower-persistent`: the tiles that one worker visits, as a loop over their indices.

    tile.persistent (%i, %j) in (%m, %n) ...    ->    scf.for %k = 0 to ceil(tiles / workers)
                                                        %t = %k * workers + worker
                                                        if %t is a tile { %i, %j from %t; body }

The order is that of `tile.persistent`: groups of adjacent tiles along the last dimension, so that
workers that run at the same time read the same rows and columns.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Region, SSAValue

from tilewright.dialects.arith import AndiOp, CmpiOp
from tilewright.dialects.scf import ForOp, IfOp, YieldOp
from tilewright.dialects.tile import PersistentOp
from tilewright.dialects.tile.mixed import Mixed
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk
from tilewright.passes.tile.index_builder import IndexBuilder
from tilewright.passes.tile.layout_expressions import combined


@dataclass(frozen=True)
class LowerPersistent(Pass):
    """Write persistent loops as loops over tile numbers."""

    name = "lower-persistent"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for op in list(walk(module)):
            if isinstance(op, PersistentOp):
                _lower(op)


def _lower(op: PersistentOp) -> None:
    code = IndexBuilder(op)
    domain, wave = op.domain, op.wave_size
    last = domain[-1]
    group = _group(code, last, op.group_size)
    across = _rounded_up(code, last, group)
    total: Mixed = combined(code, "*", across, group)
    for extent in domain[:-1]:
        total = combined(code, "*", total, extent)
    trip_count = _rounded_up(code, total, wave)
    body = Block([YieldOp()], arg_types=[op.index.type])
    loop = ForOp(code.index(0), code.index(trip_count), code.index(1), [], Region(body))
    code.add(loop)
    inside = code.inside(body)
    tile = combined(inside, "+", combined(inside, "*", body.args[0], wave), op.index)
    coordinates, is_tile = _decoded(inside, tile, domain, group, total)
    then = Block([YieldOp()])
    inside.add(IfOp(is_tile, [], Region(then)))
    for argument, value in zip(op.body.block.args, coordinates, strict=True):
        value.name_hint = argument.name_hint
        argument.replace_all_uses_with(value)
    end = then.last_op
    assert end is not None
    for inner in list(op.body.block.ops):
        if inner.name != "tile.yield":
            inner.detach()
            then.insert_op_before(inner, end)
    code.rewriter.erase(op)


def _group(code: IndexBuilder, last: Mixed, size: int) -> Mixed:
    """At most `size` tiles, and no more than there are."""
    from tilewright.dialects.arith import MaxuiOp, MinuiOp

    if isinstance(last, int):
        return max(1, min(size, last))
    smaller = code.add(MinuiOp(last, code.index(size))).results[0]
    return code.add(MaxuiOp(smaller, code.index(1))).results[0]


def _rounded_up(code: IndexBuilder, value: Mixed, divisor: Mixed) -> Mixed:
    raised = combined(code, "+", value, combined(code, "-", divisor, 1))
    return combined(code, "floordiv", raised, divisor)


def _decoded(
    code: IndexBuilder, tile: Mixed, domain: tuple[Mixed, ...], group: Mixed, total: Mixed
) -> tuple[list[SSAValue], SSAValue]:
    """The coordinates of a tile, and whether there is such a tile."""
    in_group = combined(code, "mod", tile, group)
    rest = combined(code, "floordiv", tile, group)
    outer: list[SSAValue] = []
    for extent in reversed(domain[:-1]):
        outer.append(code.index(combined(code, "mod", rest, extent)))
        rest = combined(code, "floordiv", rest, extent)
    last = code.index(combined(code, "+", combined(code, "*", rest, group), in_group))
    exists = code.add(CmpiOp("ult", code.index(tile), code.index(total))).results[0]
    inside = code.add(CmpiOp("ult", last, code.index(domain[-1]))).results[0]
    both = code.add(AndiOp(exists, inside)).results[0]
    return [*reversed(outer), last], both
