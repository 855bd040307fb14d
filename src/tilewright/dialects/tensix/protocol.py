"""Rules of a compute kernel: start-up first, inits before math, DST sections balanced.

    idle ──acquire──▶ math ──commit──▶ committed ──wait──▶ pack ──release──▶ idle

One walk over the structured kernel with an abstract state: the section of DST, the configuration
of each engine, and the formats of unpackers and packer. A loop body starts from what holds both
before the loop and after an iteration; branches join to what holds after both. A configuration
that differs between two paths is unknown, and math that relies on it is a violation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import unique

from typing_extensions import override
from xdsl.ir import Block, Operation, SSAValue
from xdsl.utils.str_enum import StrEnum

from tilewright.dialects.tensix.arguments import ArgAtOp, ArgumentOp, RasterOp
from tilewright.dialects.tensix.base import TensixOp, cb_type
from tilewright.dialects.tensix.buffers import CBOp
from tilewright.dialects.tensix.config import (
    DstAcquireOp,
    DstCommitOp,
    DstReleaseOp,
    DstWaitOp,
    HwStartupOp,
    InitOp,
    PackReconfigOp,
    ReconfigOp,
    SectionOp,
)
from tilewright.dialects.tensix.formats import Format
from tilewright.dialects.tensix.functions import Engine, InitKey
from tilewright.dialects.tensix.math import MathOp, MatmulBlockOp
from tilewright.dialects.tensix.program import EndOp, KernelOp
from tilewright.dialects.tensix.sfpu import PackOp
from tilewright.dialects.tensix.types import Role
from tilewright.ir.interfaces import constant_integer


@unique
class Rule(StrEnum):
    """Which rule is violated."""

    STARTUP = "startup"
    SECTION = "section"
    SLOT = "slot"
    INIT = "init"
    FORMAT = "format"


@dataclass(frozen=True)
class Violation:
    """An op that breaks a rule."""

    rule: Rule
    op: Operation
    message: str

    @override
    def __str__(self) -> str:
        return f"'{self.op.name}' {self.message}"


@unique
class Section(StrEnum):
    """The owner of the section of DST."""

    IDLE = "idle"
    MATH = "math"
    COMMITTED = "committed"
    PACK = "pack"


_STEPS: dict[type[SectionOp], tuple[Section, Section]] = {
    DstAcquireOp: (Section.IDLE, Section.MATH),
    DstCommitOp: (Section.MATH, Section.COMMITTED),
    DstWaitOp: (Section.COMMITTED, Section.PACK),
    DstReleaseOp: (Section.PACK, Section.IDLE),
}
_OPENED_BY = {
    Section.IDLE: "tensix.dst_release",
    Section.MATH: "tensix.dst_acquire",
    Section.COMMITTED: "tensix.dst_commit",
    Section.PACK: "tensix.dst_wait",
}


@dataclass(frozen=True)
class _State:
    section: Section = Section.IDLE
    started: bool = False
    fpu: InitKey | None = None
    sfpu: InitKey | None = None
    sources: tuple[Format | None, Format | None] = (None, None)
    packer: Format | None = None

    def join(self, other: _State) -> _State:
        """What holds on both paths."""
        return _State(
            self.section,
            self.started and other.started,
            self.fpu if self.fpu == other.fpu else None,
            self.sfpu if self.sfpu == other.sfpu else None,
            (
                self.sources[0] if self.sources[0] == other.sources[0] else None,
                self.sources[1] if self.sources[1] == other.sources[1] else None,
            ),
            self.packer if self.packer == other.packer else None,
        )


@dataclass
class _Walk:
    kernel: KernelOp
    found: list[Violation] = field(default_factory=list[Violation])
    silent: bool = False

    def report(self, rule: Rule, op: Operation, message: str) -> None:
        if not self.silent:
            self.found.append(Violation(rule, op, message))

    def block(self, block: Block | None, state: _State) -> _State:
        if block is None:
            return state
        for op in block.ops:
            state = self.op(op, state)
        return state

    def op(self, op: Operation, state: _State) -> _State:
        if op.regions:
            return self.nested(op, state)
        if isinstance(op, HwStartupOp):
            return self.startup(op, state)
        if not state.started and _needs_startup(op):
            self.report(Rule.STARTUP, op, "is reached before 'tensix.hw_startup'")
            state = replace(state, started=True)
        if isinstance(op, SectionOp):
            return self.step(op, state)
        if isinstance(op, InitOp):
            return self.init(op, state)
        if isinstance(op, ReconfigOp):
            formats = (_format(op.in0), _format(op.in1))
            return replace(state, sources=formats[::-1] if op.matmul is not None else formats)
        if isinstance(op, PackReconfigOp):
            return replace(state, packer=_format(op.out))
        if isinstance(op, MathOp):
            self.math(op, state)
        elif isinstance(op, PackOp):
            self.pack(op, state)
        return state

    def nested(self, op: Operation, state: _State) -> _State:
        """Regions that run any number of times, one of them, or none."""
        out = state
        entry = state
        was_silent, self.silent = self.silent, True
        for region in op.regions:
            after = self.block(region.first_block, entry)
            entry = entry.join(after)
        self.silent = was_silent
        for region in op.regions:
            after = self.block(region.first_block, entry)
            if after.section is not state.section:
                self.report(
                    Rule.SECTION,
                    op,
                    f"leaves DST in section '{after.section.value}' but is entered in section "
                    f"'{state.section.value}': every path must be balanced",
                )
            out = out.join(after)
        return replace(out, section=state.section)

    def startup(self, op: HwStartupOp, state: _State) -> _State:
        if op.parent_op() is not self.kernel:
            self.report(Rule.STARTUP, op, "must not be inside a loop or a branch")
        if state.started:
            self.report(Rule.STARTUP, op, "must be the first call of a compute kernel, and once")
        formats = (_format(op.in0), _format(op.in1))
        sources = formats[::-1] if op.matmul is not None else formats
        return replace(state, started=True, sources=sources, packer=_format(op.out))

    def step(self, op: SectionOp, state: _State) -> _State:
        before, after = _STEPS[type(op)]
        if state.section is not before:
            self.report(
                Rule.SECTION,
                op,
                f"needs DST in section '{before.value}', got '{state.section.value}': "
                f"'{_OPENED_BY[before]}' is missing before it",
            )
        return replace(state, section=after)

    def init(self, op: InitOp, state: _State) -> _State:
        key = op.key
        if key.engine is Engine.SFPU:
            return replace(state, sfpu=key)
        return replace(state, fpu=None if key.kind == "reduce_end" else key)

    def math(self, op: MathOp, state: _State) -> None:
        if state.section is not Section.MATH:
            self.report(
                Rule.SECTION,
                op,
                "must be between 'tensix.dst_acquire' and 'tensix.dst_commit'",
            )
        key = op.init_key()
        current = state.sfpu if key.engine is Engine.SFPU else state.fpu
        if current != key:
            got = "none on every path" if current is None else f"'{current}'"
            self.report(
                Rule.INIT, op, f"needs 'tensix.init {key}' with no other init after it, got {got}"
            )
        for name, source, format in zip(
            ("SrcA", "SrcB"), op.sources(), state.sources, strict=False
        ):
            if _format(source) is not format:
                got = "an unknown format" if format is None else format.value
                self.report(
                    Rule.FORMAT,
                    op,
                    f"unpacks {_format(source).value} to {name}, which is set to {got}: "
                    "'tensix.reconfig' is missing",
                )
        self.slots(op, [*op.slots_read(), *op.slots_written()])

    def pack(self, op: PackOp, state: _State) -> None:
        if state.section is not Section.PACK:
            self.report(
                Rule.SECTION, op, "must be between 'tensix.dst_wait' and 'tensix.dst_release'"
            )
        if state.packer is not _format(op.cb):
            got = "an unknown format" if state.packer is None else state.packer.value
            self.report(
                Rule.FORMAT,
                op,
                f"packs to {_format(op.cb).value}, but the packer is set to {got}: "
                "'tensix.pack_reconfig' is missing",
            )
        self.slots(op, [op.dst])

    def slots(self, op: Operation, slots: list[SSAValue]) -> None:
        capacity = self.kernel.dst_tiles
        extra = 0
        if isinstance(op, MatmulBlockOp):
            columns, rows, _ = op.extents
            extra = columns * rows - 1
        for slot in slots:
            first = constant_integer(slot)
            if first is not None and not 0 <= first <= first + extra < capacity:
                self.report(
                    Rule.SLOT,
                    op,
                    f"uses DST slot {first + extra}, but a section has {capacity} tiles",
                )


def _needs_startup(op: Operation) -> bool:
    return isinstance(op, TensixOp) and not isinstance(op, (CBOp, ArgAtOp, ArgumentOp, RasterOp))


def _format(cb: SSAValue) -> Format:
    return cb_type(cb).format


def violations(kernel: KernelOp) -> Iterator[Violation]:
    """Every violation of a compute kernel, in order; none for data-movement kernels."""
    if kernel.role is not Role.COMPUTE:
        return
    walk = _Walk(kernel)
    end = walk.block(kernel.body.first_block, _State())
    last = kernel.body.block.last_op
    if end.section is not Section.IDLE and isinstance(last, EndOp):
        walk.report(
            Rule.SECTION,
            last,
            f"reached with DST in section '{end.section.value}': every section must be released",
        )
    yield from walk.found


def first_violation(kernel: KernelOp) -> Violation | None:
    """The first violation, if there is one."""
    return next(violations(kernel), None)
