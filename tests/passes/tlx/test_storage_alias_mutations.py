"""Nothing that breaks a promise gets past the verifier.

Lowered random modules are changed in one number: an offset, stride or radix in the index arithmetic
or of a view by address, the extent of a view, the size of the allocation. Whether the change breaks
a rule is decided by brute force on what the changed module computes; where it does,
``tlx-verify-storage-alias`` has to object. On the modules as lowering left them it is silent.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from random import Random

import pytest
from xdsl.dialects.builtin import DenseArrayBase, DictionaryAttr, IntegerAttr, ModuleOp, i64
from xdsl.ir import SSAValue

from tests.passes.tlx.storage_alias_support import (
    Case,
    addresses,
    broken_promises,
    lower,
    random_case,
    run,
    stride_of,
    views,
)
from tilewright.dialects.arith import ConstantOp
from tilewright.dialects.tlx import LocalAliasOp, PlacedAliasOp
from tilewright.dialects.ttg.checks import memdesc
from tilewright.dialects.ttg.memory import LocalAllocOp
from tilewright.dialects.ttg.views import MemDescIndexOp
from tilewright.dialects.ttng.tmem import TMEMAllocOp
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk
from tilewright.passes.tlx.storage_alias.buffers import buffer_of, span_bits
from tilewright.passes.tlx.storage_alias.evidence import verify_module
from tilewright.passes.tlx.verify_storage_alias import VerifyStorageAlias

Mutation = tuple[str, Callable[[], None]]
"""What is changed, and a function that changes it."""


def other(number: int, random: Random) -> int:
    """A number near `number`, or a multiple or part of it; never negative."""
    choices = (number + 1, number - 1, number * 2, number // 2, number + 128, number - 128, 0)
    return random.choice([choice for choice in choices if choice >= 0 and choice != number])


def mutations(module: ModuleOp, random: Random) -> Iterator[Mutation]:
    """Every number of the module that can be changed."""
    for op in walk(module):
        if isinstance(op, ConstantOp):
            yield "index", lambda op=op: change_constant(op, random)
        elif isinstance(op, PlacedAliasOp):
            yield "offset", lambda op=op: change_offset(op, random)
            yield "stride", lambda op=op: change_stride(op, random)
            yield "view", lambda op=op: change_extent(op.result, random)
        elif isinstance(op, LocalAliasOp):
            yield "view", lambda op=op: change_extent(op.result, random)
        elif isinstance(op, LocalAllocOp):
            yield "allocation", lambda op=op: change_extent(op.result, random)


def change_constant(op: ConstantOp, random: Random) -> None:
    value = op.properties["value"]
    assert isinstance(value, IntegerAttr)
    number = other(value.value.data, random)
    op.properties["value"] = IntegerAttr(number or 1, value.type)


def change_offset(op: PlacedAliasOp, random: Random) -> None:
    op.properties["offset"] = IntegerAttr(other(op.start, random), i64)


def change_stride(op: PlacedAliasOp, random: Random) -> None:
    strides = list(op.strides.get_values())
    position = random.randrange(len(strides))
    strides[position] = other(strides[position], random) or 1
    op.properties["strides"] = DenseArrayBase.from_list(i64, strides)


def change_extent(value: SSAValue, random: Random) -> None:
    type = memdesc(value.type)
    extent = other(type.shape[0], random) or 1
    Rewriter().retype(value, type.with_shape((extent, *type.shape[1:])))


def is_broken(case: Case) -> bool:
    """Whether the module, as it is now, breaks a rule."""
    counts = {leaf.name: leaf.count for leaf in case.leaves}
    inside = {leaf.name for leaf in case.leaves}
    starts = addresses(case.module, {**counts, **{leaf.name: leaf.count for leaf in case.outside}})
    ends = []
    for leaf in case.leaves:
        if any(start < 0 for start in starts[leaf.name]):
            return True
        ends.append(max(starts[leaf.name]) + leaf.unit)
    explicit = any(isinstance(view, PlacedAliasOp) for view in views(case.module))
    mine = {name: starts[name] for name in inside}
    if broken_promises(case.tree, mine, None if explicit else stride_of(case.tree)):
        return True
    if max(ends) > allocated(case.module):
        return True
    return is_out_of_view(case, counts) or is_misaligned(case, mine)


def allocated(module: ModuleOp) -> int:
    (op,) = (op for op in walk(module) if isinstance(op, LocalAllocOp | TMEMAllocOp))
    return span_bits(memdesc(op.results[0].type)) // (8 if isinstance(op, LocalAllocOp) else 32)


def is_out_of_view(case: Case, counts: dict[str, int]) -> bool:
    """Whether an index is beyond the extent of its view."""
    for op in walk(case.module):
        if isinstance(op, MemDescIndexOp):
            view = op.src.owner
            assert isinstance(view, LocalAliasOp | PlacedAliasOp)
            count = counts.get(view.result.name_hint or "", 0)
            extent = memdesc(view.result.type).shape[0]
            if any(run(op.index, index) >= extent for index in range(count)):
                return True
    return False


def is_misaligned(case: Case, starts: dict[str, list[int]]) -> bool:
    (op,) = (op for op in walk(case.module) if isinstance(op, LocalAllocOp | TMEMAllocOp))
    residue = op.attributes.get("tlx.residue")
    base = residue.value.data if isinstance(residue, IntegerAttr) else 0
    for leaf in case.leaves:
        wanted = buffer_of(leaf.name, leaf.type).alignment
        if any((base + start) % wanted for start in starts[leaf.name]):
            return True
    return False


def try_mutation(seed: int) -> tuple[str, bool] | None:
    """Mutate the module of `seed`: the kind and whether it was reported; None if it is harmless."""
    random = Random(seed * 7919 + 1)
    case = random_case(seed)
    assert not lower(case.module, placement="auto").has_errors
    assert verify_module(case.module).faults == ()
    assert not is_broken(case)
    found = list(mutations(case.module, random))
    kinds = sorted({kind for kind, _ in found})
    chosen = random.choice(kinds)
    _, change = random.choice([each for each in found if each[0] == chosen])
    change()
    if not is_broken(case):
        return None
    engine = DiagnosticEngine()
    VerifyStorageAlias().run(case.module, engine)
    return chosen, engine.has_errors


def tally(seeds: range) -> Counter[str]:
    kinds: Counter[str] = Counter()
    for seed in seeds:
        result = try_mutation(seed)
        if result is not None:
            kind, reported = result
            assert reported, f"seed {seed}: a broken {kind} was not reported"
            kinds[kind] += 1
    return kinds


def test_every_broken_promise_is_reported():
    kinds = tally(range(150))
    assert kinds.total() > 60
    assert set(kinds) == {"index", "offset", "stride", "view", "allocation"}


@pytest.mark.slow
def test_every_broken_promise_of_many_is_reported():
    kinds = tally(range(10_000, 14_000))
    assert kinds.total() >= 1000
    assert min(kinds[kind] for kind in ("index", "offset", "stride", "view", "allocation")) > 50


def test_a_record_that_was_changed_is_reported():
    """The record is what promises are read from; it has to fit the module as well."""
    case = random_case(3)
    assert not lower(case.module, placement="auto").has_errors
    for view in list(views(case.module)):
        record = view.attributes["tlx.placement"]
        assert isinstance(record, DictionaryAttr)
        count = record.data["count"]
        assert isinstance(count, IntegerAttr)
        more = {**record.data, "count": IntegerAttr(count.value.data + 1, i64)}
        view.attributes["tlx.placement"] = DictionaryAttr(more)
        assert verify_module(case.module).faults != ()
        view.attributes["tlx.placement"] = record
    assert verify_module(case.module).faults == ()
