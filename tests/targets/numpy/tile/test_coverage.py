"""Every op that tile-level IR can hold has a rule, or a reason why not."""

from __future__ import annotations

import pytest

from tests.targets.numpy.tile.tile_support import block, compiled
from tilewright.dialects.arith import Arith
from tilewright.dialects.math import Math
from tilewright.dialects.memref import Memref
from tilewright.dialects.nv import Nv
from tilewright.dialects.scf import Scf
from tilewright.dialects.tile import Tile
from tilewright.targets.numpy import Unsupported
from tilewright.targets.numpy.ops import RULES as RULES_OF_POINTERS
from tilewright.targets.numpy.tile.ops import RULES

THREAD_LEVEL = (
    *("async_moves", "cache", "matrix", "opaque", "tma", "updates"),
    *("launch_control", "tcgen05", "tensor_memory"),
)
"""Files of ops that only kernels of single threads hold: `targets/numpy/simt` runs those."""
ENDS = {
    *("tile.yield", "tile.return"),
    *("scf.yield", "scf.condition", "scf.reduce.return", "scf.forall.in_parallel"),
}


@pytest.mark.parametrize("dialect", [Tile, Nv], ids=lambda dialect: dialect.name)
def test_every_op_has_a_rule(dialect: object) -> None:
    names = {
        op.name
        for op in dialect.operations  # pyright: ignore[reportAttributeAccessIssue]
        if op.__module__.rpartition(".")[2] not in THREAD_LEVEL
    }
    assert names - set(RULES) - ENDS == set()


def test_scalar_ops_are_those_of_the_pointer_level() -> None:
    names = {op.name for dialect in (Arith, Math) for op in dialect.operations}
    missing = {name for name in names if name not in RULES}
    assert missing.isdisjoint(RULES_OF_POINTERS)
    assert len(names - missing) > 80
    loops = {op.name for op in Scf.operations} & {"scf.for", "scf.if", "scf.while"}
    assert loops <= set(RULES)
    accesses = {op.name for op in Memref.operations} & {"memref.load", "memref.store", "memref.dim"}
    assert len(accesses) == 3
    assert accesses <= set(RULES)


def test_ops_of_other_levels_are_refused() -> None:
    text = block(
        "%A: memref<4xf32, #global>",
        """
    %x = tt.get_program_id x : i32
""",
    )
    with pytest.raises(
        Unsupported, match=r"'tt\.get_program_id' is not supported by the NumPy target"
    ) as refused:
        compiled(text)
    assert "use tile-level IR: tile, nv, memref, scf, arith, math" in str(refused.value)


def test_an_op_of_this_level_is_refused_without_a_fix_that_it_has() -> None:
    text = block("%A: memref<4xf32, #global>", "%x = arith.constant 1 : index\n%y = nv.opaque %x")
    with pytest.raises(
        Unsupported, match=r"'nv\.opaque' is not supported by the NumPy target"
    ) as refused:
        compiled(text)
    assert "use tile-level IR" not in str(refused.value)
