"""Give every value of a buffer that lives on its own a buffer of its own.

    T.copy(A[..], a)          a_0 <- A          A circular buffer has one producer and one consumer.
    a[i, j] *= s[i]     ->    a_1 <- a_0 * s    Writes that reach a common read stay together, all
    T.copy(a, B[..])          B   <- a_1        others are separated.

Where a buffer still has two producers (loaded, then accumulated) or two consumers (stored, and
read again), a copy inside L1 is inserted, so that loads, computation and stores each have their
own; likewise where a load is read after its loop, or contents are stored in another loop than they
are computed in, since one push then has several or no pops. Ops whose results
are never read disappear.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Block, Operation, SSAValue

from tilewright.dialects.scf import ForOp, IfOp
from tilewright.dialects.tensix.blocks import ElementwiseOp, TileYieldOp
from tilewright.dialects.tensix.types import Role
from tilewright.dialects.tile import AllocOp, CopyOp, KernelOp
from tilewright.dialects.type_utils import element_type_of
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.effects import is_removable
from tilewright.ir.passes import Pass
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk
from tilewright.passes.tenstorrent.annotations import functions
from tilewright.passes.tenstorrent.block_ops import identity, staging_buffer
from tilewright.passes.tenstorrent.buffer_uses import (
    alloc_of,
    is_block_op,
    read_positions,
    role_of,
    write_positions,
)
from tilewright.passes.tile.clone_ops import copy_op

Access = tuple[Operation, int]
"""An op and the position of an operand."""
State = Mapping[SSAValue, frozenset[Access]]
"""The writes of each buffer that may have given it its contents."""


@dataclass(frozen=True)
class SeparateBuffers(Pass):
    """Split buffers into independent ones with one producer and one consumer."""

    name = "separate-buffers"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for function in functions(module):
            for kernel in [op for op in walk(function) if isinstance(op, KernelOp)]:
                _separate(kernel)
                _insert_copies(kernel)
                _drop_unread(kernel)


# -- reaching writes -------------------------------------------------------------------------------


@dataclass
class _Webs:
    """Classes of writes that reach a common read."""

    parents: dict[Access, Access] = field(default_factory=dict[Access, Access])
    reads: dict[Access, Access] = field(default_factory=dict[Access, Access])
    """A read and one of the writes that reach it."""

    def find(self, access: Access) -> Access:
        while (parent := self.parents.get(access, access)) != access:
            access = parent
        return access

    def union(self, one: Access, other: Access) -> None:
        first, second = self.find(one), self.find(other)
        if first != second:
            self.parents[second] = first

    def read(self, access: Access, reaching: Sequence[Access]) -> None:
        for each in reaching:
            self.union(reaching[0], each)
        if reaching:
            self.reads[access] = reaching[0]


def _flow(block: Block, state: State, webs: _Webs) -> State:
    for op in block.ops:
        if isinstance(op, (ForOp, IfOp)):
            state = _nested(op, state, webs)
        elif is_block_op(op):
            state = _step(op, state, webs)
    return state


def _nested(op: ForOp | IfOp, state: State, webs: _Webs) -> State:
    if isinstance(op, IfOp):
        ends = [_flow(region.block, state, webs) for region in op.regions if region.blocks]
        return _joined([state, *ends] if len(ends) < 2 else ends)
    while True:
        entry = _joined([state, _flow(op.body.block, state, webs)])
        if entry == state:
            return entry
        state = entry


def _joined(states: Sequence[State]) -> State:
    found: dict[SSAValue, frozenset[Access]] = {}
    for state in states:
        for buffer, writes in state.items():
            found[buffer] = found.get(buffer, frozenset()) | writes
    return found


def _step(op: Operation, state: State, webs: _Webs) -> State:
    reads, writes = read_positions(op), write_positions(op)
    order = {access: n for n, access in enumerate(webs.parents)}
    for position in reads:
        reaching = sorted(
            state.get(op.operands[position], frozenset()), key=lambda each: order.get(each, 0)
        )
        webs.read((op, position), reaching)
        if position in writes and reaching:  # one operand for the old and the new contents
            webs.union(reaching[0], (op, position))
    after = dict(state)
    for position in writes:
        webs.parents.setdefault((op, position), (op, position))
        after[op.operands[position]] = frozenset({(op, position)})
    return after


def _separate(kernel: KernelOp) -> None:
    webs = _Webs()
    for op in walk(kernel):
        for position in write_positions(op) if is_block_op(op) else ():
            webs.parents.setdefault((op, position), (op, position))
    _flow(kernel.body_block, {}, webs)
    members: dict[SSAValue, dict[Access, list[Access]]] = {}
    for access in [*webs.parents, *webs.reads]:
        op, position = access
        web = webs.find(webs.reads.get(access, access))
        members.setdefault(op.operands[position], {}).setdefault(web, []).append(access)
    for buffer, groups in members.items():
        for version, accesses in enumerate(groups.values()):
            if version:
                _move(accesses, _twin(buffer, version))


def _twin(buffer: SSAValue, version: int) -> SSAValue:
    alloc = alloc_of(buffer)
    made = copy_op(alloc, {})
    assert isinstance(made, AllocOp)
    made.name_hint = StringAttr(f"{alloc.buffer_name}_{version}")
    made.result.name_hint = made.name_hint.data
    Rewriter().insert_after(alloc, made)
    return made.result


def _move(accesses: Sequence[Access], buffer: SSAValue) -> None:
    for op, position in accesses:
        op.operands[position] = buffer


# -- one producer, one consumer --------------------------------------------------------------------


def _insert_copies(kernel: KernelOp) -> None:
    rewriter = Rewriter()
    for alloc in [op for op in walk(kernel) if isinstance(op, AllocOp)]:
        buffer = alloc.result
        users = [use.operation for use in buffer.uses if is_block_op(use.operation)]
        writers = [op for op in users if any(op.operands[n] is buffer for n in write_positions(op))]
        readers = [op for op in users if any(op.operands[n] is buffer for n in read_positions(op))]
        loads = [op for op in writers if isinstance(op, CopyOp) and role_of(op) is Role.READER]
        stores = [op for op in readers if isinstance(op, CopyOp) and role_of(op) is Role.WRITER]
        outlives = any(not _is_within(reader, load) for reader in readers for load in loads)
        if loads and (len(loads) < len({*writers}) or outlives):
            for load in loads:
                staged = staging_buffer(
                    load, buffer, element_type_of(buffer.type), alloc.buffer_name
                )
                rewriter.insert_after(load, identity(load, staged, buffer))
                load.operands[1] = staged
        repeats = any(store.parent is not op.parent for op in writers for store in stores)
        if stores and (len({*readers}) > 1 or repeats):
            for store in stores:
                staged = staging_buffer(
                    store, buffer, element_type_of(buffer.type), alloc.buffer_name
                )
                rewriter.insert_before(store, identity(store, buffer, staged))
                store.operands[0] = staged


def _is_within(op: Operation, load: Operation) -> bool:
    """Whether `op` is executed only after `load` has been: not after a loop that may be empty."""
    block = op.parent
    while block is not None and block is not load.parent:
        around = block.parent_op()
        block = None if around is None else around.parent
    return block is not None


def _drop_unread(kernel: KernelOp) -> None:
    """Erase ops whose results are never read, outputs that are not, and buffers without uses."""
    changed = True
    while changed:
        changed = False
        for op in list(walk(kernel)):
            if op.parent is None:
                continue
            if _is_dead(op):
                Rewriter().erase(op)
                changed = True
            elif isinstance(op, ElementwiseOp) and len(op.outputs) > 1:
                changed |= _drop_outputs(op)


def _drop_outputs(op: ElementwiseOp) -> bool:
    """Rebuild an op without the outputs that no other op reads; whether there were any."""
    pairs = [
        (output, result)
        for output, result in zip(op.outputs, op.results_of_body, strict=True)
        if _is_read(output, op)
    ]
    if len(pairs) == len(op.outputs):
        return False
    last = op.body.block.last_op
    assert last is not None
    Rewriter().replace_op(last, TileYieldOp([result for _, result in pairs]))
    for each in reversed(list(op.body.block.ops)):
        if is_removable(each) and not any(result.uses for result in each.results):
            Rewriter().erase(each)
    inputs = [n for n, element in enumerate(op.elements) if element.uses]
    block = op.body.block
    for element in [each for each in op.elements if not each.uses]:
        block.erase_arg(element)
    made = ElementwiseOp(
        op.block_tiles,
        [op.inputs[n] for n in inputs],
        [op.kinds[n] for n in inputs],
        [output for output, _ in pairs],
        op.detach_region(op.body),
        attributes=op.attributes,
    )
    Rewriter().replace_op(op, made)
    return True


def _is_dead(op: Operation) -> bool:
    if isinstance(op, AllocOp):
        return not op.result.uses
    if not is_block_op(op):
        return False
    written = [op.operands[n] for n in write_positions(op)]
    return bool(written) and not any(_is_read(each, op) for each in written)


def _is_read(buffer: SSAValue, writer: Operation) -> bool:
    """Whether another op than `writer` reads the buffer."""
    return any(
        use.operation.operands[position] is buffer
        for use in buffer.uses
        if use.operation is not writer and is_block_op(use.operation)
        for position in read_positions(use.operation)
    )
