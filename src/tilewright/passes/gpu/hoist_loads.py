"""`hoist-loads`: loads of an unrolled loop are issued before what they do not depend on.

    for k {                                  ahead_T = T[0, .]
      wait full[s]                           for k {
      for i in unrolled(8) {                   wait full[s]
        x = S[s, i]                            ahead_S = S[s, .]
        y = T[k, i]                  ->        for i in unrolled(8) {
        D[i] = f(x, y)                           D[i] = f(ahead_S[i], ahead_T[i])
      }                                        }
      wgmma D; commit                          wgmma D; commit
      wgmma.wait                               ahead_T = T[min(k + 1, last), .]
    }                                          wgmma.wait
                                             }

`S` and `D` are shared buffers. The CUDA compiler does not know that they do not overlap, so that
the load of an iteration would be issued after the store of the one before, and wait for its own
latency. `T` is a tensor that the kernel only reads: what the next iteration of `k` needs of it is
loaded while the tensor cores work, and no iteration waits for global memory. Where several blocks
share a multiprocessor they hide that latency for each other, and registers are what they lack.

A load is moved if its indices are computed from the variables of the two loops and what is outside,
and if the loop around it does no more than access memory: threads do not synchronise in it. What is
loaded ahead takes registers, at most `_MAX_REGISTERS` for a loop, and for all that an iteration
loads for the next. A kernel that spills is compiled again without this pass.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, UnitAttr
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue
from xdsl.traits import is_side_effect_free

from tilewright.dialects.arith import AddiOp, CmpiOp, MinsiOp, MuliOp, SubiOp
from tilewright.dialects.func import FuncOp, argument_attributes
from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.nv import WgmmaWaitOp
from tilewright.dialects.scf import ForOp, IfOp, YieldOp
from tilewright.dialects.simt import ConvertOp, MoveOp
from tilewright.dialects.simt import names as simt_names
from tilewright.dialects.tile import AllocOp, ExternOp, Space, names, space_of
from tilewright.dialects.tile.interfaces import writes
from tilewright.dialects.tile.types import PtrType, buffer_type
from tilewright.dialects.type_utils import bit_width, element_type_of
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.interfaces import constant_value
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk
from tilewright.passes.gpu.pending_accesses import share_bytes
from tilewright.passes.gpu.unroll_loops import trip_count_of
from tilewright.passes.tile.clone_ops import copy_op
from tilewright.passes.tile.index_builder import IndexBuilder

_MAX_REGISTERS = 32
_REGISTER_BYTES = 4
_PLAIN = (LoadOp, StoreOp, MoveOp, ConvertOp, AllocOp, ForOp, IfOp, YieldOp)
"""What a loop may do besides arithmetic: all that it accesses is known."""


@dataclass(frozen=True)
class HoistLoads(Pass):
    """Issue loads of unrolled loops before stores, and an iteration ahead."""

    name = "hoist-loads"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for function in module.body.ops:
            if isinstance(function, FuncOp) and simt_names.KERNEL in function.attributes:
                left: dict[ForOp, int] | None = None if _shares_multiprocessor(function) else {}
                for op in [op for op in walk(function) if isinstance(op, ForOp)]:
                    if names.UNROLL in op.attributes and _is_plain(op):
                        _hoist(op, left)


def _is_plain(loop: ForOp) -> bool:
    """Whether all that a loop accesses is known, and no thread waits in it."""
    return all(
        isinstance(op, _PLAIN) or is_side_effect_free(op) or _computes(op)
        for op in loop.body.walk()
    )


def _computes(op: Operation) -> bool:
    """Whether a call works on registers that it is given; one that gets none may do anything."""
    if not isinstance(op, ExternOp):
        return False
    pointers = [each for each in op.arguments if isinstance(each.type, PtrType)]
    return bool(pointers) and all(space_of(each.type) is Space.LOCAL for each in pointers)


def _shares_multiprocessor(function: FuncOp) -> bool:
    blocks = function.attributes.get(simt_names.MIN_BLOCKS)
    return isinstance(blocks, IntegerAttr) and blocks.value.data > 1


def _hoist(loop: ForOp, left: dict[ForOp, int] | None) -> None:
    """`left`: registers that loops have for loads of their next iteration; None for none."""
    trip_count = trip_count_of(loop)
    if trip_count is None or trip_count < 2 or loop.results or not _counts(loop):
        return
    written = {region.base for region in writes(loop)}
    around = None if left is None else _Around.of(loop)
    budget = _MAX_REGISTERS
    within: list[_Load] = []
    ahead: list[_Load] = []
    for op in loop.body.block.ops:
        load = _Load.of(op)
        if load is None:
            continue
        taken = load.registers * trip_count
        if _is_after_stores(load, written) and load.depends_on(loop) is not None:
            if taken <= budget:
                budget -= taken
                within.append(load)
        elif (
            around is not None
            and left is not None
            and around.may_hoist(load)
            and taken <= left.setdefault(around.loop, _MAX_REGISTERS)
        ):
            left[around.loop] -= taken
            ahead.append(load)
    if within:
        _Copies(loop, within, trip_count).before_stores()
    if ahead:
        assert around is not None
        _Copies(loop, ahead, trip_count).an_iteration_ahead(around)


def _counts(loop: ForOp) -> bool:
    """Whether the variable of a loop counts its iterations."""
    return _is(loop.lower_bound, 0) and _is(loop.step, 1)


def _is(value: SSAValue, expected: int) -> bool:
    constant = constant_value(value)
    return isinstance(constant, IntegerAttr) and constant.value.data == expected


def _is_after_stores(load: _Load, written: set[SSAValue]) -> bool:
    """Whether the loop stores to shared memory, and to none that is loaded."""
    shared = [each for each in written if _is_shared(each)]
    return (
        bool(shared)
        and _is_shared(load.source)
        and not any(share_bytes(each, load.source) for each in shared)
    )


def _is_shared(buffer: SSAValue) -> bool:
    space = space_of(buffer.type)
    return space is not None and space.is_shared


@dataclass(frozen=True)
class _Load:
    """A load from memory to registers, directly in an unrolled loop."""

    op: LoadOp | MoveOp

    @staticmethod
    def of(op: Operation) -> _Load | None:
        if isinstance(op, LoadOp):
            return _Load(op) if space_of(op.memref.type) is not Space.LOCAL else None
        if not isinstance(op, MoveOp) or space_of(op.src.type) is Space.LOCAL:
            return None
        return _Load(op) if space_of(op.dst.type) is Space.LOCAL else None

    @property
    def source(self) -> SSAValue:
        return self.op.memref if isinstance(self.op, LoadOp) else self.op.src

    @property
    def lanes(self) -> int:
        return 1 if isinstance(self.op, LoadOp) else self.op.width

    @property
    def registers(self) -> int:
        """Of one iteration."""
        bits = self.lanes * max(8, bit_width(element_type_of(self.source.type)))
        return -(-bits // (8 * _REGISTER_BYTES))

    @property
    def inputs(self) -> list[SSAValue]:
        """What the load needs besides memory."""
        op = self.op
        if isinstance(op, LoadOp):
            return list(op.indices)
        return [*op.src_indices, *([op.policy] if op.policy is not None else [])]

    def depends_on(self, *loops: ForOp) -> list[Operation] | None:
        """The arithmetic in `loops` that gives the inputs, in its order; None if they depend on
        more than that and the variables of the loops."""
        found: dict[Operation, None] = {}
        return list(found) if all(_collect(each, loops, found) for each in self.inputs) else None


def _collect(value: SSAValue, loops: Sequence[ForOp], found: dict[Operation, None]) -> bool:
    owner = value.owner
    if isinstance(owner, Block):
        loop = owner.parent_op()
        is_variable = isinstance(value, BlockArgument) and value.index == 0
        return is_variable if loop in loops else not _is_inside(owner, loops)
    block = owner.parent
    if owner in found or block is None or not _is_inside(block, loops):
        return True
    if block.parent_op() not in loops or owner.regions or not is_side_effect_free(owner):
        return False
    if not all(_collect(each, loops, found) for each in owner.operands):
        return False
    found[owner] = None
    return True


def _is_inside(block: Block, loops: Sequence[ForOp]) -> bool:
    return any(each.is_ancestor(block) for each in loops)


@dataclass(frozen=True)
class _Around:
    """The loop around an unrolled one, and the wait before which the next iteration is loaded."""

    loop: ForOp
    inner: ForOp
    wait: WgmmaWaitOp

    @staticmethod
    def of(inner: ForOp) -> _Around | None:
        loop = inner.parent_op()
        if not isinstance(loop, ForOp) or names.UNROLL in loop.attributes:
            return None
        if not _is(loop.step, 1):
            return None
        if any(op.name.startswith("nv.grid") for op in walk(loop)):
            return None  # what another kernel writes is there after the wait for it
        waits = [op for op in _after(inner) if isinstance(op, WgmmaWaitOp)]
        return _Around(loop, inner, waits[-1]) if waits else None

    def may_hoist(self, load: _Load) -> bool:
        """Whether a load is of a tensor that no thread writes, and can be issued earlier."""
        source = load.source
        if not isinstance(source, BlockArgument):
            return False
        marks = argument_attributes(source)
        is_constant = simt_names.CONST in marks and simt_names.RESTRICT in marks
        return is_constant and load.depends_on(self.inner, self.loop) is not None


def _after(op: Operation) -> Iterator[Operation]:
    current = op.next_op
    while current is not None:
        yield current
        current = current.next_op


def _name_of(buffer: SSAValue) -> str:
    owner = buffer.owner
    return owner.buffer_name if isinstance(owner, AllocOp) else buffer.name_hint or "values"


@dataclass
class _Copies:
    """Loads of a loop, and the registers that take their results."""

    loop: ForOp
    loads: Sequence[_Load]
    trip_count: int
    _registers: list[SSAValue] = field(default_factory=list[SSAValue])

    def before_stores(self) -> None:
        self._allocate(IndexBuilder(self.loop))
        self._load(IndexBuilder(self.loop), {}, (self.loop,))
        self._replace()

    def an_iteration_ahead(self, around: _Around) -> None:
        outer = around.loop
        self._allocate(IndexBuilder(outer))
        variable = outer.body.block.args[0]
        before = IndexBuilder(outer)
        if not trip_count_of(outer):
            runs = before.add(CmpiOp("slt", outer.lower_bound, outer.upper_bound)).results[0]
            then = Block([YieldOp()])
            before.add(IfOp(runs, [], Region(then)))
            before = before.inside(then)
        self._load(before, {variable: outer.lower_bound}, (self.loop, outer))
        late = IndexBuilder(around.wait)
        one = late.index(1)
        following = late.add(AddiOp(variable, one)).results[0]
        last = late.add(SubiOp(outer.upper_bound, one)).results[0]
        following = late.add(MinsiOp(following, last)).results[0]
        self._load(late, {variable: following}, (self.loop, outer))
        self._replace()

    def _allocate(self, code: IndexBuilder) -> None:
        for each in self.loads:
            size = self.trip_count * each.lanes
            type = buffer_type(element_type_of(each.source.type), [size], Space.LOCAL)
            name = f"{_name_of(each.source)}_ahead"
            self._registers.append(code.add(AllocOp(type, name=name)).results[0])

    def _load(
        self, code: IndexBuilder, values: dict[SSAValue, SSAValue], loops: tuple[ForOp, ...]
    ) -> None:
        """A loop that only loads, with `values` instead of variables."""
        old = self.loop
        block = Block([YieldOp()], arg_types=[old.body.block.args[0].type])
        block.args[0].name_hint = old.body.block.args[0].name_hint
        copy = ForOp(old.lower_bound, old.upper_bound, old.step, [], Region(block))
        copy.attributes[names.UNROLL] = UnitAttr()
        code.add(copy)
        inside = code.inside(block)
        known = {**values, old.body.block.args[0]: block.args[0]}
        for each, registers in zip(self.loads, self._registers, strict=True):
            needed = each.depends_on(*loops)
            assert needed is not None  # or it would not be among the loads
            for op in needed:
                if op.results[0] not in known:
                    inside.add(copy_op(op, known))
            at = self._position(inside, block.args[0], each)
            self._issue(inside, each, known, registers, at)

    def _issue(
        self,
        code: IndexBuilder,
        load: _Load,
        known: dict[SSAValue, SSAValue],
        registers: SSAValue,
        at: SSAValue,
    ) -> None:
        op = load.op
        if isinstance(op, LoadOp):
            value = code.add(copy_op(op, known)).results[0]
            code.add(StoreOp(value, registers, [at]))
            return
        indices = [known.get(each, each) for each in op.src_indices]
        policy = None if op.policy is None else known.get(op.policy, op.policy)
        move = code.add(MoveOp(op.src, indices, registers, [at], op.width, policy))
        move.attributes.update(op.attributes)

    def _position(self, code: IndexBuilder, variable: SSAValue, load: _Load) -> SSAValue:
        """The first of the registers of an iteration."""
        if load.lanes == 1:
            return variable
        return code.add(MuliOp(variable, code.index(load.lanes))).results[0]

    def _replace(self) -> None:
        """Take the results from registers."""
        variable = self.loop.body.block.args[0]
        for each, registers in zip(self.loads, self._registers, strict=True):
            code = IndexBuilder(each.op)
            at = self._position(code, variable, each)
            op = each.op
            if isinstance(op, LoadOp):
                found = code.add(LoadOp(registers, [at])).results[0]
                code.rewriter.replace_all_uses(op.results[0], found)
            else:
                code.add(MoveOp(registers, [at], op.dst, op.dst_indices, op.width))
            code.rewriter.erase(op)
