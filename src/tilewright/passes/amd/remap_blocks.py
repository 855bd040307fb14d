"""`remap-blocks`: blocks that share data go to the same die.

A GPU of several dies (XCDs) has an L2 cache on each, and starts consecutive blocks on different
dies in turn. Tiles of a GEMM that are adjacent read the same rows and columns, so they should be
on one die. Of `n` blocks and `X` dies, the block that is started as number `p` takes

    (p mod X) * floor(n / X) + min(p mod X, n mod X) + floor(p / X)

which is a permutation of the blocks: die ``p mod X`` gets a contiguous range of them. A raster of
the user is applied to the result. Only kernels with matrix instructions are changed; not those that
synchronise the grid or wait for other blocks in a loop, which may depend on the order in which
blocks are started.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from tilewright.dialects.amd.ops import MfmaOp, WmmaOp
from tilewright.dialects.arith import AddiOp, DivuiOp, MinuiOp, MuliOp, RemuiOp
from tilewright.dialects.func import FuncOp
from tilewright.dialects.gpu import BlockIdOp, GridDimOp
from tilewright.dialects.scf import WhileOp
from tilewright.dialects.simt import LaunchOp
from tilewright.dialects.simt import names as simt_names
from tilewright.dialects.simt.target import amd_chip_of
from tilewright.dialects.tile.mixed import Mixed
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.interfaces import constant_integer
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk
from tilewright.passes.tile.index_builder import IndexBuilder
from tilewright.passes.tile.layout_expressions import combined

_AXES = ("x", "y", "z")


@dataclass(frozen=True)
class RemapBlocks(Pass):
    """Give each die of a GPU a contiguous range of the blocks."""

    name = "remap-blocks"

    always: bool = False
    """Whether kernels without matrix instructions are changed, too."""

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        functions = {op.sym_name.data: op for op in module.body.ops if isinstance(op, FuncOp)}
        for launch in list(walk(module)):
            if not isinstance(launch, LaunchOp):
                continue
            kernel = functions[launch.kernel.string_value()]
            chip = amd_chip_of(kernel)
            if chip is not None and chip.xcds > 1 and self._is_concerned(kernel):
                _remap(kernel, [constant_integer(each) for each in launch.grid], chip.xcds)

    def _is_concerned(self, kernel: FuncOp) -> bool:
        if simt_names.COOPERATIVE in kernel.attributes:
            return False
        ops = list(walk(kernel))
        if any(isinstance(op, WhileOp) for op in ops):
            return False
        return self.always or any(isinstance(op, MfmaOp | WmmaOp) for op in ops)


def _remap(kernel: FuncOp, grid: list[int | None], dies: int) -> None:
    """Replace the block indices of a kernel."""
    before = [op for op in walk(kernel) if isinstance(op, BlockIdOp)]
    if not before or all(extent == 1 for extent in grid):
        return
    first = kernel.body.block.first_op
    assert first is not None, "a kernel ends with a return"
    code = IndexBuilder(first)
    extents: list[Mixed] = [
        code.add(GridDimOp(axis)).results[0] if extent is None else extent
        for axis, extent in zip(_AXES, grid, strict=True)
    ]
    raw: list[Mixed] = [
        0 if extent == 1 else code.add(BlockIdOp(axis)).results[0]
        for axis, extent in zip(_AXES, grid, strict=True)
    ]
    started: Mixed = 0
    for index, extent in zip(reversed(raw), reversed(extents), strict=True):
        started = combined(code, "+", combined(code, "*", started, extent), index)
    total = combined(code, "*", combined(code, "*", extents[0], extents[1]), extents[2])
    found = code.index(remapped(code, code.index(started), total, dies))
    found.name_hint = "block"
    coordinates: dict[str, SSAValue] = {}
    rest: Mixed = found
    last = max(index for index, extent in enumerate(grid) if extent != 1)
    for index, (axis, extent) in enumerate(zip(_AXES, extents, strict=True)):
        coordinates[axis] = code.index(
            combined(code, "mod", rest, extent) if index < last else rest
        )
        rest = combined(code, "floordiv", rest, extent) if index < last else 0
    for op in before:
        new = coordinates[op.dimension.data.value]
        op.results[0].replace_all_uses_with(new)
        op.detach()
        op.erase()


def remapped(code: IndexBuilder, started: SSAValue, total: Mixed, dies: int) -> SSAValue:
    """The block that is started as number `started` of `total`."""
    each, left = (combined(code, kind, total, dies) for kind in ("floordiv", "mod"))
    count = code.index(dies)
    die = code.add(RemuiOp(started, count)).results[0]
    first = code.add(MuliOp(die, code.index(each))).results[0]
    if left != 0:  # some dies have one more
        more = code.add(MinuiOp(die, code.index(left))).results[0]
        first = code.add(AddiOp(first, more)).results[0]
    return code.add(AddiOp(first, code.add(DivuiOp(started, count)).results[0])).results[0]
