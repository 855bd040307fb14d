"""The table of ops that signal barriers names all of them, by operands that they have."""

from __future__ import annotations

from tilewright.dialects.amdg import Amdg
from tilewright.dialects.ttg import Ttg
from tilewright.dialects.ttng import Ttng
from tilewright.dialects.ttng.signals import SIGNALS

BARRIERS = frozenset(("barrier", "barriers", "mbarrier", "mbar_alloc", "mbar"))
OPERANDS = {
    op.name: {name for name, _ in op.get_irdl_definition().operands}
    for op in (*Amdg.operations, *Ttg.operations, *Ttng.operations)
}


def test_every_op_with_a_barrier_is_in_the_table() -> None:
    signalling = {name for name, operands in OPERANDS.items() if operands & BARRIERS}
    arrivals = {"amdg.arrive_barrier", "ttng.arrive_barrier", "ttng.barrier_expect"}
    assert set(SIGNALS) == signalling | arrivals


def test_every_op_has_the_operands_of_the_table() -> None:
    assert all(OPERANDS[name].issuperset(names) for name, names in SIGNALS.items())
