"""Insert start-up, inits and format changes into a compute kernel, where they are needed.

The FPU and the SFPU each keep one configuration, the unpackers two formats, the packer one. A
walk over the structured kernel follows them and inserts what an op requires and does not find. A
loop in which only one configuration is required gets it before the loop; otherwise the state at
the start of an iteration is unknown, and the ops inside configure what they need.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from xdsl.ir import Block, Operation, SSAValue

from tilewright.dialects.tensix.arguments import ArgumentOp
from tilewright.dialects.tensix.base import TensixOp, cb_type
from tilewright.dialects.tensix.buffers import CBOp
from tilewright.dialects.tensix.config import (
    HwStartupOp,
    InitOp,
    PackReconfigOp,
    ReconfigOp,
)
from tilewright.dialects.tensix.formats import Format
from tilewright.dialects.tensix.functions import Engine, InitKey
from tilewright.dialects.tensix.json_attr import json_of
from tilewright.dialects.tensix.math import (
    MathOp,
    MatmulBlockOp,
    MatmulTileOp,
    ReduceOp,
    TileToDstOp,
    TwoTilesOp,
)
from tilewright.dialects.tensix.program import KernelOp
from tilewright.dialects.tensix.sfpu import PackOp
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk
from tilewright.passes.tenstorrent.compute_blocks import OUTPUT

Sources = tuple[Format | None, Format | None]


@dataclass(frozen=True)
class _State:
    """What is configured; None where that is not known."""

    fpu: InitKey | None = None
    sfpu: InitKey | None = None
    sources: Sources = (None, None)
    packer: Format | None = None


def configure(kernel: KernelOp) -> None:
    """Complete a compute kernel."""
    state = _start(kernel)
    if state is not None:
        _Configuration(kernel).block(kernel.body_block, state)
    for op in walk(kernel):
        op.attributes.pop(OUTPUT, None)


def _start(kernel: KernelOp) -> _State | None:
    """Insert the start-up call, with the buffers of the first math op and the first pack."""
    anchor = next((op for op in kernel.body_block.ops if _is_call(op)), None)
    cbs = [op.result for op in kernel.body_block.ops if isinstance(op, CBOp)]
    if anchor is None or not cbs:
        return None
    math = next((op for op in walk(kernel) if isinstance(op, (TwoTilesOp, TileToDstOp))), None)
    pack = next((op for op in walk(kernel) if isinstance(op, PackOp)), None)
    out = cbs[-1] if pack is None else pack.cb
    first, second = (out, out) if math is None else _inputs(math)
    is_matmul = isinstance(math, (MatmulTileOp, MatmulBlockOp))
    Rewriter().insert_before(anchor, HwStartupOp(first, second, out, matmul=is_matmul))
    return _State(sources=_order(first, second, is_matmul), packer=_format(out))


def _is_call(op: Operation) -> bool:
    if isinstance(op, TensixOp):
        return not isinstance(op, (CBOp, ArgumentOp))
    return bool(op.regions)


def _inputs(op: MathOp) -> tuple[SSAValue, SSAValue]:
    if isinstance(op, TwoTilesOp):
        return op.in0, op.in1
    assert isinstance(op, TileToDstOp)
    return op.cb, op.cb


def _format(cb: SSAValue) -> Format:
    return cb_type(cb).format


@dataclass
class _Configuration:
    kernel: KernelOp

    def block(self, block: Block, state: _State) -> _State:
        for op in list(block.ops):
            if op.regions:
                state = self.nested(op, state)
            elif isinstance(op, MathOp):
                state = self.math(op, op, state)
            elif isinstance(op, PackOp):
                state = self.packer(op, op.cb, state)
            elif isinstance(op, InitOp):
                state = replace(state, fpu=None)
        return state

    def nested(self, op: Operation, state: _State) -> _State:
        """Configure once before the op what is the same in all of it."""
        state, inside = self.hoist(op, state)
        ends = [self.block(block, inside) for region in op.regions for block in region.blocks]
        return _joined([state, *ends])

    def hoist(self, op: Operation, state: _State) -> tuple[_State, _State]:
        math = [each for each in walk(op) if isinstance(each, MathOp)]
        packs = [each for each in walk(op) if isinstance(each, PackOp)]
        inits = any(isinstance(each, InitOp) for each in walk(op))
        inside = state
        for engine in Engine:
            keys = {each.init_key() for each in math if each.init_key().engine is engine}
            name = "fpu" if engine is Engine.FPU else "sfpu"
            if len(keys) == 1 and not (inits and engine is Engine.FPU):
                first = next(each for each in math if each.init_key().engine is engine)
                state = self.init(op, first, state)
                inside = replace(inside, **{name: keys.copy().pop()})
            elif keys or (inits and engine is Engine.FPU):
                inside = replace(inside, **{name: None})
        demands = [_demand(each) for each in math if each.sources()]
        common = _common(demands)
        if demands and common is not None:
            longest = max((each for each in math if each.sources()), key=lambda e: len(e.sources()))
            state = self.formats(op, longest, state)
            inside = replace(inside, sources=state.sources)
        elif demands:
            inside = replace(inside, sources=(None, None))
        formats = {_format(each.cb) for each in packs}
        if len(formats) == 1:
            state = self.packer(op, packs[0].cb, state)
            inside = replace(inside, packer=state.packer)
        elif formats:
            inside = replace(inside, packer=None)
        return state, inside

    def math(self, anchor: Operation, op: MathOp, state: _State) -> _State:
        return self.init(anchor, op, self.formats(anchor, op, state))

    def formats(self, anchor: Operation, op: MathOp, state: _State) -> _State:
        required = [_format(each) for each in op.sources()]
        if all(format is now for format, now in zip(required, state.sources, strict=False)):
            return state
        first, second = _inputs(op)
        is_matmul = isinstance(op, (MatmulTileOp, MatmulBlockOp)) or (
            len(required) == 2 and op.sources()[0] is not _inputs(op)[0]
        )
        Rewriter().insert_before(anchor, ReconfigOp(first, second, matmul=is_matmul), op)
        return replace(state, sources=_order(first, second, is_matmul))

    def init(self, anchor: Operation, op: MathOp, state: _State) -> _State:
        key = op.init_key()
        current = state.sfpu if key.engine is Engine.SFPU else state.fpu
        if current == key:
            return state
        Rewriter().insert_before(anchor, InitOp(key, self.buffers(op)), op)
        return replace(state, **{"sfpu" if key.engine is Engine.SFPU else "fpu": key})

    def buffers(self, op: MathOp) -> Sequence[SSAValue]:
        """The circular buffers that an init takes."""
        if isinstance(op, ReduceOp):
            index = json_of(op.attributes[OUTPUT])
            cbs = [each for each in self.kernel.body_block.ops if isinstance(each, CBOp)]
            out = next(each.result for each in cbs if each.index == index)
            return [op.in0, op.in1, out]
        if isinstance(op, TwoTilesOp):
            return [op.in0, op.in1]
        return [op.cb] if isinstance(op, TileToDstOp) else []

    def packer(self, anchor: Operation, cb: SSAValue, state: _State) -> _State:
        if state.packer is _format(cb):
            return state
        Rewriter().insert_before(anchor, PackReconfigOp(cb))
        return replace(state, packer=_format(cb))


def _order(first: SSAValue, second: SSAValue, is_reversed: bool) -> Sources:
    """The formats of SrcA and SrcB."""
    one, other = _format(first), _format(second)
    return (other, one) if is_reversed else (one, other)


def _demand(op: MathOp) -> tuple[Format, ...]:
    return tuple(_format(each) for each in op.sources())


def _common(demands: Sequence[tuple[Format, ...]]) -> tuple[Format, ...] | None:
    """The formats that satisfy all demands, if there are such."""
    longest = max(demands, key=len, default=())
    if all(each == longest[: len(each)] for each in demands):
        return longest
    return None


def _joined(states: Sequence[_State]) -> _State:
    found = states[0]
    for each in states[1:]:
        found = _State(
            found.fpu if found.fpu == each.fpu else None,
            found.sfpu if found.sfpu == each.sfpu else None,
            (
                found.sources[0] if found.sources[0] is each.sources[0] else None,
                found.sources[1] if found.sources[1] is each.sources[1] else None,
            ),
            found.packer if found.packer is each.packer else None,
        )
    return found
