"""Runs a kernel's integer code, one program after the other, and records what it does.

Independent of the address analysis in every respect: values are arrays of machine numbers, control
flow is followed, memory is a fixed function of the address. Floating-point values have stand-ins
that depend on the same operands as the real ones, so that an integer made from a float still varies
with whatever it should vary with.

Counters of loops: ``scf.for`` and ``scf.while`` count their turns from 0; a cycle of blocks counts
its backward jumps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product

import numpy as np
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from tests.analysis.oracle.arithmetic import UndefinedBehaviour, magnitude
from tests.analysis.oracle.operations import (
    ADDRESSES,
    RULES,
    BlockValue,
    DescriptorValue,
    Value,
    element_size,
    mixed,
    width_of,
)
from tests.analysis.oracle.recording import (
    Array,
    BoxValue,
    Launch,
    Path,
    Program,
    Recording,
    Touch,
    When,
    scalar,
)
from tilewright.dialects.cf import BranchOp, CondBranchOp, SwitchOp
from tilewright.dialects.scf import ForOp, WhileOp
from tilewright.dialects.tt import FuncOp, TensorDescType
from tilewright.dialects.tt.functions import CallOp
from tilewright.dialects.type_utils import PointerLike, element_type_of, shape_of
from tilewright.ir.interfaces import branch_edges
from tilewright.ir.text.names import ValueNames
from tilewright.ir.traversal import walk

MAX_TURNS = 4096
"""A loop that turns more often than this is no test of anything."""

_ACCESSES = frozenset(
    (
        "tt.load",
        "tt.store",
        "tt.atomic_rmw",
        "tt.atomic_cas",
        "tt.descriptor_load",
        "tt.descriptor_store",
        "tt.descriptor_reduce",
        "tt.descriptor_gather",
        "tt.descriptor_scatter",
    )
)


def run(
    module: Operation,
    launch: Launch,
    programs: Sequence[Program] | None = None,
    *,
    keep_values: bool = True,
) -> Recording:
    """Run the public function of a module for all programs of a grid, or some of them."""
    machine = _Machine(module, launch, keep_values)
    for program in product(*map(range, launch.grid)) if programs is None else programs:
        machine.run(program)
    return machine.recording


class _Machine:
    def __init__(self, module: Operation, launch: Launch, keep_values: bool) -> None:
        functions = [op for op in walk(module) if isinstance(op, FuncOp)]
        self.functions = {function.sym_name.data: function for function in functions}
        self.kernel = next(function for function in functions if function.is_public)
        self.names = ValueNames(module, names_from_locations=False, use_hints=True)
        self.launch = launch
        self.recording = Recording(launch)
        self.program: Program = (0, 0, 0)
        self.counters: list[int] = []
        self.path: Path = ()
        self.keeps = keep_values
        self._cycles: dict[Region, frozenset[Block]] = {}

    # Programs and functions.

    def run(self, program: Program) -> None:
        self.program, self.counters, self.path = program, [], ()
        self.recording.programs.append(program)
        arguments = [self._argument(index, arg) for index, arg in enumerate(self.kernel.args)]
        self._region(self.kernel.body, arguments, {})

    def _argument(self, index: int, arg: SSAValue) -> Value:
        name = self.names.of(arg)
        if isinstance(arg.type, TensorDescType):
            rank = len(arg.type.shape)
            rest = [self.names.of(one) for one in self.kernel.args[index + 1 :][: 2 * rank]]
            numbers = [self.launch.args[one] for one in rest]
            strides = (*numbers[rank : 2 * rank - 1], 1)
            address = self.launch.addresses[name]
            return DescriptorValue(address, tuple(numbers[:rank]), strides, arg.type.shape)
        if isinstance(element_type_of(arg.type), PointerLike):
            return np.asarray(self.launch.addresses[name], dtype=np.int64)
        if name in self.launch.args:
            kind = bool if is_bit(arg.type) else np.int64
            return np.asarray(self.launch.args[name], dtype=kind)
        return np.asarray(1.5)

    @property
    def when(self) -> When:
        return When(self.program, tuple(self.counters))

    # Regions.

    def _region(
        self, region: Region, arguments: Sequence[Value], env: dict[SSAValue, Value]
    ) -> list[Value]:
        """Run a region; the operands of the terminator that leaves it."""
        block = region.first_block
        assert block is not None
        cycle = self._cycle(region)
        inside, turns = False, 0
        while True:
            if (block in cycle) != inside:
                inside = not inside
                if inside:
                    self.counters.append(0)
                else:
                    self.counters.pop()
            for argument, value in zip(block.args, arguments, strict=True):
                self._set(env, argument, value)
            for op in list(block.ops)[:-1]:
                self._op(op, env)
            last = block.last_op
            assert last is not None
            jump = self._jump(last, env)
            if jump is None:
                if inside:
                    self.counters.pop()
                return [env[operand] for operand in last.operands]
            target, arguments = jump
            if inside and target in cycle and _place(region, target) <= _place(region, block):
                self.counters[-1] += 1
                turns += 1
                if turns > MAX_TURNS:
                    raise UndefinedBehaviour("a cycle without an end")
            block = target

    def _jump(
        self, last: Operation, env: Mapping[SSAValue, Value]
    ) -> tuple[Block, list[Value]] | None:
        if not isinstance(last, BranchOp | CondBranchOp | SwitchOp):
            return None
        edges, taken = branch_edges(last), 0
        if isinstance(last, CondBranchOp):
            taken = 0 if bool(_array(env[last.condition])) else 1
        elif isinstance(last, SwitchOp):
            flag = scalar(_array(env[last.flag]))
            cases = list(getattr(last.case_values, "get_values", list)())
            taken = 1 + cases.index(flag) if flag in cases else 0
        target = edges[taken].target
        assert isinstance(target, Block)
        return target, [env[operand] for operand in edges[taken].operands]

    def _cycle(self, region: Region) -> frozenset[Block]:
        known = self._cycles.get(region)
        if known is None:
            known = self._cycles[region] = _blocks_on_cycles(region)
        return known

    # Ops.

    def _set(self, env: dict[SSAValue, Value], target: SSAValue, value: Value) -> None:
        env[target] = value
        if self.keeps and isinstance(value, np.ndarray) and value.dtype != float:
            self.recording.note(target, self.path, self.when, value)

    def _op(self, op: Operation, env: dict[SSAValue, Value]) -> None:
        special = _CONTROL.get(op.name)
        if special is not None:
            special(self, op, env)
        elif op.name in _ACCESSES:
            self._access(op, env)
        else:
            rule = RULES.get(op.name)
            operands = [env[operand] for operand in op.operands]
            if rule is None:
                results = [mixed(op, result, operands) for result in op.results]
            else:
                results = rule(self, op, operands)
            for result, value in zip(op.results, results, strict=True):
                self._set(env, result, value)

    def wraps(self, op: Operation) -> None:
        self.recording.wraps.setdefault((op, self.path), set()).add(self.when)

    def divides_negative(self, op: Operation) -> None:
        self.recording.negative.setdefault((op, self.path), set()).add(self.when)

    # Control flow.

    def _if(self, op: Operation, env: dict[SSAValue, Value]) -> None:
        chosen = op.regions[0 if bool(_array(env[op.operands[0]])) else 1]
        if chosen.first_block is None:
            return
        self._results(op, env, self._region(chosen, [], env))

    def _for(self, op: Operation, env: dict[SSAValue, Value]) -> None:
        assert isinstance(op, ForOp)
        lower, upper, step = (scalar(_array(env[one])) for one in op.operands[:3])
        if op.unsigned is not None:
            lower, upper = lower % 2**32, upper % 2**32
        if step <= 0:
            raise UndefinedBehaviour("a loop that does not advance")
        carried = [env[init] for init in op.init_args]
        steps = range(lower, upper, step)
        self._enter(op, len(steps))
        for turn, at in enumerate(steps):
            self.counters[-1] = turn
            carried = self._region(op.body, [np.asarray(at, dtype=np.int64), *carried], env)
        self.counters.pop()
        self._results(op, env, carried)

    def _enter(self, op: Operation, turns: int) -> None:
        if turns > MAX_TURNS:
            raise UndefinedBehaviour("too many turns")
        self.recording.turns.setdefault((op, self.path), {})[self.when] = turns
        self.counters.append(0)

    def _while(self, op: Operation, env: dict[SSAValue, Value]) -> None:
        assert isinstance(op, WhileOp)
        carried = [env[init] for init in op.operands]
        entered = self.when
        self.counters.append(0)
        while True:
            holds, *forwarded = self._region(op.before_region, carried, env)
            if not bool(_array(holds)):
                break
            carried = self._region(op.after_region, forwarded, env)
            self.counters[-1] += 1
            if self.counters[-1] > MAX_TURNS:
                raise UndefinedBehaviour("a loop without an end")
        turns = self.counters.pop()
        self.recording.turns.setdefault((op, self.path), {})[entered] = turns
        self._results(op, env, forwarded)

    def _call(self, op: Operation, env: dict[SSAValue, Value]) -> None:
        assert isinstance(op, CallOp)
        function = self.functions[op.callee.root_reference.data]
        before = self.path
        self.path = (*before, op)
        results = self._region(function.body, [env[one] for one in op.operands], {})
        self.path = before
        self._results(op, env, results)

    def _assume(self, op: Operation, env: dict[SSAValue, Value]) -> None:
        if not bool(_array(env[op.operands[0]])):
            raise UndefinedBehaviour("an assumption that does not hold")

    def _results(self, op: Operation, env: dict[SSAValue, Value], values: Sequence[Value]) -> None:
        for result, value in zip(op.results, values, strict=True):
            self._set(env, result, value)

    def _fold(self, op: Operation, env: dict[SSAValue, Value]) -> None:
        """``tt.reduce`` and ``tt.scan``: the region, element by element along the axis."""
        attribute = op.properties["axis"]
        assert isinstance(attribute, IntegerAttr)
        axis = attribute.value.data
        sources = [_array(env[operand]) for operand in op.operands]
        extent = sources[0].shape[axis]
        total: list[Value] = [source.take(0, axis) for source in sources]
        seen: list[list[Value]] = [total]
        keeps, self.keeps = self.keeps, False
        backwards = op.properties.get("reverse")
        if isinstance(backwards, IntegerAttr) and backwards.value.data:
            raise UndefinedBehaviour("a scan from the end is not modelled")
        for at in range(1, extent):
            following: list[Value] = [source.take(at, axis) for source in sources]
            total = self._region(op.regions[0], [*total, *following], dict(env))
            seen.append(total)
        self.keeps = keeps
        if op.name == "tt.scan":
            columns = zip(*seen, strict=True)
            self._results(op, env, [np.stack([_array(one) for one in c], axis) for c in columns])
        else:
            self._results(op, env, total)

    # Memory.

    def _access(self, op: Operation, env: dict[SSAValue, Value]) -> None:
        pointer = env[op.operands[0]]
        if isinstance(pointer, DescriptorValue):
            touch = self._through_box(op, pointer, _indices(op, env), range(len(pointer.block)))
        elif isinstance(pointer, BlockValue):
            checks = op.properties.get("boundaryCheck")
            checked = [] if checks is None else list(getattr(checks, "get_values", list)())
            box = DescriptorValue(pointer.address, pointer.shape, pointer.strides, pointer.block)
            touch = self._through_box(op, box, pointer.offsets, checked)
        else:
            mask = getattr(op, "mask", None)
            given = True if mask is None else _array(env[mask])
            lanes = np.broadcast_to(np.asarray(given, dtype=bool), pointer.shape)
            touch = Touch(self.when, pointer, lanes)
        self.recording.touches.setdefault((op, self.path), []).append(touch)
        other = getattr(op, "other", None)
        fallback = None if other is None else _array(env[other])
        for result in op.results:
            value = self._loaded(op, result, touch)
            if fallback is not None:
                value = np.where(touch.mask, value, fallback)
            self._set(env, result, value)

    def _through_box(
        self,
        op: Operation,
        box: DescriptorValue,
        indices: Sequence[Array],
        checked: Sequence[int],
    ) -> Touch:
        shape = box.block
        size = element_size(op.operands[0].type)
        if op.name in ("tt.descriptor_gather", "tt.descriptor_scatter"):
            tensor = op.results[0] if op.results else op.operands[-1]
            shape = shape_of(tensor.type)
        places: list[Array] = []
        for dim, index in enumerate(indices):
            along = [1] * len(shape)
            along[dim] = -1
            if index.ndim:  # rows of a gather
                places.append(index.reshape(along))
            else:
                places.append(index + np.arange(shape[dim], dtype=np.int64).reshape(along))
        addresses: Array = np.asarray(box.address, dtype=np.int64)
        inside: Array = np.asarray(True)
        for dim, place in enumerate(places):
            if magnitude(place) * abs(box.strides[dim] * size) >= ADDRESSES:
                raise UndefinedBehaviour("an address beyond all memory")
            addresses = addresses + place * (box.strides[dim] * size)
            if dim in checked:
                inside = inside & (place >= 0) & (place < box.shape[dim])
        return Touch(
            self.when,
            np.broadcast_to(addresses, shape),
            np.broadcast_to(inside, shape),
            BoxValue(box.address, box.shape, box.strides, tuple(indices)),
        )

    def _loaded(self, op: Operation, result: SSAValue, touch: Touch) -> Array:
        shape = shape_of(result.type)
        seed = self.launch.seed
        if "atomic" in op.name:  # whoever came first
            seed = hash((seed, self.when)) & 0xFFFFFFFF
        size = element_size(op.operands[0].type)
        noise = scrambled(touch.addresses, seed)
        if isinstance(element_type_of(result.type), PointerLike):
            return np.asarray((1 << 44) + noise % 9973 * 4, dtype=np.int64).reshape(shape)
        if element_type_of(result.type).name.startswith(("f", "bf")):
            return np.asarray(noise % 1009, dtype=float).reshape(shape)
        if is_bit(result.type):
            return np.asarray(noise % 2, dtype=bool).reshape(shape)
        found = np.asarray(noise % 61 - 13 * (seed % 2), dtype=np.int64)
        if width_of(result.type) == 64:  # an address, as like as not: no pointer is misaligned
            found = found * 8
        for name, data in self.launch.memory.items():
            at = touch.addresses - self.launch.addresses[name]
            index = at // size
            inside = (at % size == 0) & (index >= 0) & (index < len(data))
            if len(data):
                table = np.asarray(data, dtype=np.int64)
                found = np.where(inside, table[np.where(inside, index, 0)], found)
        return found.reshape(shape)


def scrambled(addresses: Array, seed: int) -> Array:
    """Numbers that say nothing about the addresses they were made from."""
    bits = np.atleast_1d(addresses).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ np.uint64(seed * 0x2545F4914F6CDD1D % 2**64)) * np.uint64(0xBF58476D1CE4E5B9)
    return np.asarray(bits >> np.uint64(41), dtype=np.int64).reshape(np.shape(addresses))


def is_bit(type: Attribute) -> bool:
    return element_type_of(type).name == "integer_type" and str(element_type_of(type)) == "i1"


def _indices(op: Operation, env: Mapping[SSAValue, Value]) -> list[Array]:
    if op.name in ("tt.descriptor_gather", "tt.descriptor_scatter"):
        return [_array(env[op.operands[1]]), _array(env[op.operands[2]])]
    return [_array(env[one]) for one in getattr(op, "indices", ())]


def _array(value: Value) -> Array:
    assert isinstance(value, np.ndarray | np.generic)
    return np.asarray(value)


def _place(region: Region, block: Block) -> int:
    return list(region.blocks).index(block)


def _blocks_on_cycles(region: Region) -> frozenset[Block]:
    blocks = list(region.blocks)
    reach = {
        block: set(() if block.last_op is None else block.last_op.successors) for block in blocks
    }
    for _ in blocks:
        for block in blocks:
            reach[block] = reach[block].union(*(reach[one] for one in reach[block]))
    return frozenset(block for block in blocks if block in reach[block])


_CONTROL: Mapping[str, Callable[[_Machine, Operation, dict[SSAValue, Value]], None]] = {
    "scf.if": _Machine._if,
    "scf.for": _Machine._for,
    "scf.while": _Machine._while,
    "tt.call": _Machine._call,
    "llvm.intr.assume": _Machine._assume,
    "tt.reduce": _Machine._fold,
    "tt.scan": _Machine._fold,
}
