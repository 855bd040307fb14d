"""Wrong plans: each is a plan of a kernel with one decision changed so that the kernel is wrong.

    shift     a box starts one element later along a dimension
    origin    a view begins one element later
    mask      the extent that stands for a mask is one too large, or one too small
    guard     the condition of a whole box is dropped
    axes      two strides of a view, or two lanes of a box, are swapped
    fill      what is outside of a box reads as NaN instead of zero, or the other way round
    store     a store is left out
    update    a carried value, or the result of an in-place op, goes to a buffer of its own
    sharing   two values that are live at once share a buffer

A change of a fill is wrong only where the kernel on pointers computes something else with it; that
is what `fill_matters` finds out, without the raising.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from xdsl.dialects.builtin import DenseArrayBase, i32
from xdsl.ir import Operation, OpResult

from tests.passes.raising.levels import Launch, copied, parsed
from tilewright.analysis.raising import plan_raising
from tilewright.analysis.raising.kinds import is_data_tensor
from tilewright.analysis.raising.plan import Access, RaisePlan
from tilewright.analysis.raising.slots import Slot
from tilewright.analysis.raising.views import View
from tilewright.dialects.scf import ForOp
from tilewright.dialects.tt import DescriptorStoreOp, FuncOp, LoadOp, StoreOp
from tilewright.dialects.type_utils import element_type_of, shape_of
from tilewright.ir.traversal import walk
from tilewright.passes.raising.prepare import prepare
from tilewright.targets.numpy import Buffer, NumpyFault, RunOptions, compile_module

Mutate = Callable[[RaisePlan], RaisePlan]


@dataclass(frozen=True)
class Mutation:
    kind: str
    where: str
    apply: Mutate
    """Of a plan that was just made: the changed one."""

    def __str__(self) -> str:
        return f"{self.kind} {self.where}"


def plan_of(text: str) -> RaisePlan:
    """A plan of its own: positions of accesses and values are the same every time."""
    module = parsed(text)
    prepare(module)
    (function,) = [op for op in module.body.block.ops if isinstance(op, FuncOp)]
    plan = plan_raising(function)
    assert plan.is_raised
    return plan


def mutations(text: str, launch: Launch) -> Iterator[Mutation]:
    """All of them for a kernel."""
    plan = plan_of(text)
    for index, (op, access) in enumerate(plan.accesses.items()):
        where = f"{op.name} {index}"
        if access.box is not None:
            yield from _of_box(plan, index, where, access)
        else:
            yield from _of_elements(index, where, access)
        if _has_fill(op, access) and fill_matters(launch, index):
            yield Mutation("fill", where, lambda plan, i=index: _refilled(plan, i))
    yield from _stores(plan)
    yield from _updates(plan)
    yield from _sharings(plan)


# Boxes and addresses.


def _of_box(plan: RaisePlan, index: int, where: str, access: Access) -> Iterator[Mutation]:
    box = access.box
    assert box is not None
    view = plan.views[box.view]
    for dim in range(len(box.starts)):
        yield Mutation(
            "shift", f"{where} dim {dim}", lambda plan, i=index, d=dim: _shift(plan, i, d)
        )
    yield Mutation("origin", where, lambda plan, i=index: _review(plan, i, _moved))
    for dim, lane in enumerate(box.lanes):
        if lane in box.masked and view.extents[dim] is not None and not box.wraps:
            for change in (1, -1):
                yield Mutation(
                    "mask",
                    f"{where} dim {dim} by {change}",
                    lambda plan, i=index, d=dim, c=change: _review(
                        plan, i, lambda view: _resized(view, d, c)
                    ),
                )
    if box.guard is not None:
        yield Mutation(
            "guard",
            where,
            lambda plan, i=index: _rebox(plan, i, lambda each: replace(each, guard=None)),
        )
    lanes = [dim for dim, lane in enumerate(box.lanes) if lane is not None]
    if len(lanes) > 1 and view.strides[lanes[0]] != view.strides[lanes[1]]:
        yield Mutation(
            "axes",
            where,
            lambda plan, i=index, pair=(lanes[0], lanes[1]): _review(
                plan, i, lambda view: _swapped(view, *pair)
            ),
        )


def _of_elements(index: int, where: str, access: Access) -> Iterator[Mutation]:
    if access.address is not None:
        yield Mutation("shift", where, lambda plan, i=index: _readdress(plan, i))


def _with_access(plan: RaisePlan, index: int, change: Callable[[Access], Access]) -> RaisePlan:
    op = list(plan.accesses)[index]
    return replace(plan, accesses={**plan.accesses, op: change(plan.accesses[op])})


def _rebox(plan: RaisePlan, index: int, change: Callable[[Any], Any]) -> RaisePlan:
    return _with_access(plan, index, lambda each: replace(each, box=change(each.box)))


def _readdress(plan: RaisePlan, index: int) -> RaisePlan:
    def moved(each: Access) -> Access:
        assert each.address is not None
        return replace(each, address=each.address + 1)

    return _with_access(plan, index, moved)


def _shift(plan: RaisePlan, index: int, dim: int) -> RaisePlan:
    def moved(box: Any) -> Any:
        starts = list(box.starts)
        starts[dim] = starts[dim] + 1
        return replace(box, starts=tuple(starts))

    return _rebox(plan, index, moved)


def _review(plan: RaisePlan, index: int, change: Callable[[View], View]) -> RaisePlan:
    """Let one access use a changed copy of its view."""
    op = list(plan.accesses)[index]
    box = plan.accesses[op].box
    assert box is not None
    views = (*plan.views, change(plan.views[box.view]))
    changed = _rebox(plan, index, lambda each: replace(each, view=len(views) - 1))
    return replace(changed, views=views)


def _moved(view: View) -> View:
    return replace(view, origin=view.origin + 1)


def _resized(view: View, dim: int, by: int) -> View:
    extents = list(view.extents)
    extent = extents[dim]
    assert extent is not None
    extents[dim] = extent + by
    return replace(view, extents=tuple(extents))


def _swapped(view: View, one: int, other: int) -> View:
    strides = list(view.strides)
    strides[one], strides[other] = strides[other], strides[one]
    return replace(view, strides=tuple(strides))


# Fills.


def _has_fill(op: Operation, access: Access) -> bool:
    return isinstance(op, LoadOp) and op.mask is not None and access.box is not None


def _refilled(plan: RaisePlan, index: int) -> RaisePlan:
    op = list(plan.accesses)[index]
    assert isinstance(op, LoadOp)
    _drop_other(op)
    return _with_access(plan, index, lambda each: replace(each, fills_nan=True))


def _drop_other(op: LoadOp) -> None:
    """Without `other` the padding decides."""
    op.operands = [each for each in op.operands if each is not op.other]
    sizes = op.properties["operandSegmentSizes"]
    assert isinstance(sizes, DenseArrayBase)
    retained = [*sizes.get_values()]
    retained[2] = 0
    op.properties["operandSegmentSizes"] = DenseArrayBase.from_list(i32, retained)


def fill_matters(launch: Launch, index: int) -> bool:
    """Whether the kernel on pointers computes something else if that load fills with NaN."""
    results: list[list[bytes]] = []
    for is_changed in (False, True):
        module = parsed(launch.text)
        if is_changed:
            prepare(module)
            (function,) = [op for op in module.body.block.ops if isinstance(op, FuncOp)]
            op = list(plan_raising(function).accesses)[index]
            assert isinstance(op, LoadOp)
            if not _fill_with_nan(op):
                return False
        arguments = [copied(each) for each in launch.arguments]
        try:
            compile_module(module).launch(
                launch.sizes,
                arguments,
                RunOptions(output=lambda _: None, check_uninitialised=False),
            )
        except NumpyFault:
            return False
        results.append([each.array.tobytes() for each in arguments if isinstance(each, Buffer)])
    return results[0] != results[1]


def _fill_with_nan(op: LoadOp) -> bool:
    from xdsl.dialects.builtin import AnyFloat, DenseIntOrFPElementsAttr, TensorType

    from tilewright.dialects.arith import ConstantOp

    element = element_type_of(op.result.type)
    if not isinstance(element, AnyFloat) or op.other is None:
        return False
    type = op.result.type
    if isinstance(type, TensorType):
        value: Any = DenseIntOrFPElementsAttr.from_list(type, [float("nan")])
        constant = ConstantOp(value)
    else:
        constant = ConstantOp.of(float("nan"), element)
    block = op.parent
    assert block is not None
    block.insert_op_before(constant, op)
    op.operands = [constant.result if each is op.other else each for each in op.operands]
    return True


# Values.


def _stores(plan: RaisePlan) -> Iterator[Mutation]:
    ops = list(walk(plan.function))
    for position, op in enumerate(ops):
        if isinstance(op, StoreOp | DescriptorStoreOp):
            yield Mutation("store", f"op {position}", lambda plan, at=position: _unstored(plan, at))


def _unstored(plan: RaisePlan, position: int) -> RaisePlan:
    op = list(walk(plan.function))[position]
    op.detach()
    accesses = {each: access for each, access in plan.accesses.items() if each is not op}
    return replace(plan, accesses=accesses, copies=plan.copies - {op}, staged=plan.staged - {op})


def _updates(plan: RaisePlan) -> Iterator[Mutation]:
    """Carried tensors whose new value goes elsewhere: the next iteration finds the old one."""
    for index, loop in enumerate(_loops(plan)):
        end = loop.body.block.last_op
        assert end is not None
        for position, (argument, value) in enumerate(
            zip(loop.iter_args, end.operands, strict=True)
        ):
            is_own = value is not argument and isinstance(value, OpResult)
            if is_data_tensor(argument) and is_own and _is_read(argument, loop, position):
                yield Mutation(
                    "update",
                    f"loop {index} value {position}",
                    lambda plan, n=index, p=position: _parted(plan, n, p),
                )


def _is_read(argument: Any, loop: ForOp, position: int) -> bool:
    return argument.first_use is not None and loop.results[position].first_use is not None


def _loops(plan: RaisePlan) -> list[ForOp]:
    return [op for op in walk(plan.function) if isinstance(op, ForOp)]


def _parted(plan: RaisePlan, index: int, position: int) -> RaisePlan:
    """The yielded value keeps its buffer; argument and result get another, which nothing updates."""
    loop = _loops(plan)[index]
    argument, result = loop.iter_args[position], loop.results[position]
    end = loop.body.block.last_op
    assert end is not None
    own = plan.slots.of[argument]
    value = end.operands[position]
    fresh = Slot(shape_of(argument.type), element_type_of(argument.type), name="lost")
    for each in (argument, result, loop.init_args[position]):
        if plan.slots.of.get(each) is own:
            plan.slots.of[each] = fresh
    # The copy at the end of the body is what carries the value on: leave it out.
    computed = Slot(shape_of(argument.type), element_type_of(argument.type), name="computed")
    plan.slots.of[value] = computed
    end.operands[position] = argument
    return plan


def _sharings(plan: RaisePlan) -> Iterator[Mutation]:
    for one, other in _live_pairs(plan):
        yield Mutation(
            "sharing",
            f"values {one} and {other}",
            lambda plan, pair=(one, other): _merged(plan, *pair),
        )


def _values(plan: RaisePlan) -> list[OpResult]:
    return [
        result
        for op in walk(plan.function)
        for result in op.results
        if is_data_tensor(result) and result in plan.slots.of
    ]


def _live_pairs(plan: RaisePlan) -> Iterator[tuple[int, int]]:
    """Values of one block, the second computed while the first is still read afterwards."""
    values, positions = _values(plan), plan.values.positions
    for i, one in enumerate(values):
        for j, other in enumerate(values):
            first, second = plan.slots.of[one], plan.slots.of[other]
            if first is second or one.op.parent is not other.op.parent or one.op is other.op:
                continue
            if (first.shape, first.element) != (second.shape, second.element):
                continue
            last = max((positions[each] for each in plan.values.anchors[one]), default=-1)
            is_used = other.first_use is not None
            if positions[one.op] < positions[other.op] < last and is_used:
                yield i, j


def _merged(plan: RaisePlan, one: int, other: int) -> RaisePlan:
    values = _values(plan)
    plan.slots.share(values[other], plan.slots.of[values[one]])
    return plan
