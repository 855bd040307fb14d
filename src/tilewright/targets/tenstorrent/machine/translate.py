"""Kernels of the Tensix level as Python generators.

Each op becomes one line: arithmetic is Python's, modulo 2^32; a ``tensix`` op is a call of the
method of that name on the thread, with the position of the op for reports:

    def kernel(t):
        count = t.arg(0, 0)
        cb0 = t.cb(0, 1)
        for i in range(0, count, 1):
            yield t.cb_wait(cb0, 1, 5)
            t.matmul_tile(_k0, cb0, 0, cb1, 0, 0, 7)

A kernel is translated once and run on all of its cores.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Block, Operation, SSAValue

from tilewright.analysis.concurrency import Steps
from tilewright.dialects.tensix import arguments, buffers, config, math, noc, sfpu, tables
from tilewright.dialects.tensix.formats import Format
from tilewright.dialects.tensix.program import KernelOp
from tilewright.ir.interfaces import constant_value

MASK = 0xFFFFFFFF


@dataclass
class Translation:
    """A kernel as Python."""

    source: str
    ops: Sequence[Operation]
    """The ops by the position that calls pass on."""
    function: Callable[[Any], Steps]


@dataclass
class _Writer:
    lines: list[str] = field(default_factory=list[str])
    depth: int = 1
    names: dict[SSAValue, str] = field(default_factory=dict[SSAValue, str])
    ops: list[Operation] = field(default_factory=list[Operation])
    constants: dict[str, object] = field(default_factory=dict[str, object])
    rules: Mapping[str, Callable[[_Writer, Any], None]] = field(
        default_factory=dict[str, Callable[["_Writer", Any], None]]
    )
    """Rules that replace the usual ones."""

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def name(self, value: SSAValue) -> str:
        found = self.names.get(value)
        if found is None:
            found = self.names[value] = f"v{len(self.names)}"
        return found

    def text(self, value: SSAValue) -> str:
        constant = constant_value(value)
        if isinstance(constant, IntegerAttr):
            width_one = getattr(constant.type, "width", None)
            if width_one is not None and width_one.data == 1:
                return str(bool(constant.value.data))
            return str(constant.value.data & MASK)
        return self.name(value)

    def constant(self, value: object) -> str:
        """A name for a Python object."""
        name = f"_k{len(self.constants)}"
        self.constants[name] = value
        return name

    def site(self, op: Operation) -> int:
        self.ops.append(op)
        return len(self.ops) - 1

    def call(self, op: Operation, method: str, *arguments: object, prefix: str = "") -> None:
        """One call on the thread, assigned to the result if there is one."""
        texts = [self.text(each) if isinstance(each, SSAValue) else str(each) for each in arguments]
        call = f"t.{method}({', '.join([*texts, str(self.site(op))])})"
        target = f"{self.name(op.results[0])} = " if op.results else ""
        self.line(f"{target}{prefix}{call}")

    def block(self, block: Block) -> None:
        self.depth += 1
        start = len(self.lines)
        for op in block.ops:
            self.op(op)
        if len(self.lines) == start:
            self.line("pass")
        self.depth -= 1

    def op(self, op: Operation) -> None:
        rule = self.rules.get(op.name) or _RULES.get(op.name)
        if rule is None:
            raise NotImplementedError(f"'{op.name}' has no meaning in the executor")
        rule(self, op)


Rule: TypeAlias = Callable[[_Writer, Any], None]


def translate(kernel: KernelOp, *, blocking_sections: bool = False) -> Translation:
    """The generator function of a kernel.

    With `blocking_sections`, the steps of DST sections may block too: FPU and packer are threads
    of their own then.
    """
    writer = _Writer(depth=0, rules=_BLOCKING_SECTIONS if blocking_sections else {})
    writer.block(kernel.body.block)
    source = "\n".join(["def kernel(t):", *writer.lines, "    return", "    yield"]) + "\n"
    scope: dict[str, Any] = {**_HELPERS, **writer.constants}
    exec(compile(source, f"<kernel {kernel.sym_name.data}>", "exec"), scope)
    return Translation(source, writer.ops, cast("Callable[[Any], Steps]", scope["kernel"]))


# -- integers ------------------------------------------------------------------------------------


def _signed(value: int) -> int:
    return value - (1 << 32) if value & 0x80000000 else value


def _truncated(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


_HELPERS: dict[str, Any] = {"_s": _signed, "_tdiv": _truncated}


def _arithmetic(template: str) -> Rule:
    """`{0}` and `{1}` are the operands."""

    def rule(writer: _Writer, op: Operation) -> None:
        texts = [writer.text(each) for each in op.operands]
        writer.line(f"{writer.name(op.results[0])} = {template.format(*texts)}")

    return rule


_PREDICATES = (
    "{0} == {1}",
    "{0} != {1}",
    "_s({0}) < _s({1})",
    "_s({0}) <= _s({1})",
    "_s({0}) > _s({1})",
    "_s({0}) >= _s({1})",
    "{0} < {1}",
    "{0} <= {1}",
    "{0} > {1}",
    "{0} >= {1}",
)


def _compare(writer: _Writer, op: Operation) -> None:
    predicate: int = cast("Any", op.properties["predicate"]).value.data
    _arithmetic(_PREDICATES[predicate])(writer, op)


def _nothing(writer: _Writer, op: Operation) -> None:
    """Constants are written where they are used, ends of blocks where the block ends."""


# -- control flow --------------------------------------------------------------------------------


def _assign(writer: _Writer, names: Sequence[str], values: Sequence[SSAValue]) -> None:
    if names:
        texts = [writer.text(each) for each in values]
        writer.line(f"{', '.join(names)} = {', '.join(texts)}")


def _for(writer: _Writer, op: Any) -> None:
    carried = [writer.name(each) for each in op.iter_args]
    _assign(writer, carried, op.init_args)
    bounds = [writer.text(each) for each in (op.lower_bound, op.upper_bound, op.step)]
    writer.line(f"for {writer.name(op.induction_variable)} in range({', '.join(bounds)}):")
    writer.block(op.body.block)
    if carried:
        writer.depth += 1
        _assign(writer, carried, op.yield_op.operands)
        writer.depth -= 1
        _assign(writer, [writer.name(each) for each in op.results], op.iter_args)


def _if(writer: _Writer, op: Operation) -> None:
    names = [writer.name(each) for each in op.results]
    for keyword, region in zip(
        (f"if {writer.text(op.operands[0])}:", "else:"), op.regions, strict=True
    ):
        if not region.blocks:
            continue
        writer.line(keyword)
        writer.block(region.block)
        last = region.block.last_op
        if names and last is not None:
            writer.depth += 1
            _assign(writer, names, last.operands)
            writer.depth -= 1


# -- tensix --------------------------------------------------------------------------------------


def _plain(method: str, prefix: str = "") -> Rule:
    """A call with all operands."""

    def rule(writer: _Writer, op: Operation) -> None:
        writer.call(op, method, *op.operands, prefix=prefix)

    return rule


def _by_index(method: str) -> Rule:
    def rule(writer: _Writer, op: Any) -> None:
        writer.call(op, method, op.index)

    return rule


def _arg_at(writer: _Writer, op: arguments.ArgAtOp) -> None:
    writer.call(op, "arg", f"{op.first} + {writer.text(op.index)}")


def _raster(writer: _Writer, op: arguments.RasterOp) -> None:
    texts = [writer.text(each) for each in op.position]
    names = ", ".join(writer.name(each) for each in op.results)
    writer.line(f"{names} = {writer.constant(op.raster)}.at({', '.join(texts)})")


def _table(writer: _Writer, op: tables.TableOp) -> None:
    entries = writer.constant(tuple(each & MASK for each in op.entries))
    writer.line(f"{writer.name(op.result)} = {entries}[{writer.text(op.position)}]")


def _accessor(writer: _Writer, op: noc.AccessorOp) -> None:
    format = writer.constant(cast("Any", op.result.type).format)
    writer.call(op, "accessor", op.address, op.offset, format)


def _fill_page(writer: _Writer, op: buffers.FillPageOp) -> None:
    format = writer.constant(op.tile_format)
    writer.call(op, "fill_page", op.l1, op.limit, repr(op.pattern.data), format, op.value_bits)


def _corners(writer: _Writer, op: Any) -> str:
    return (
        f"({', '.join(writer.text(each) for each in (op.x_start, op.y_start, op.x_end, op.y_end))})"
    )


def _mcast(writer: _Writer, op: noc.McastOp) -> None:
    writer.call(op, "mcast", op.l1, _corners(writer, op), op.bytes, op.dests)


def _sem_mcast(writer: _Writer, op: noc.SemMcastOp) -> None:
    writer.call(op, "sem_mcast", op.sem, _corners(writer, op), op.dests)


def _sem_wait(writer: _Writer, op: noc.SemWaitOp) -> None:
    writer.call(op, "sem_wait", op.sem, op.value, op.at_least is not None, prefix="yield from ")


def _startup(method: str) -> Rule:
    def rule(writer: _Writer, op: Any) -> None:
        writer.call(op, method, *op.operands, op.matmul is not None)

    return rule


def _init(writer: _Writer, op: config.InitOp) -> None:
    writer.call(op, "init", writer.constant(op.key))


def _step(step: str, prefix: str = "") -> Rule:
    def rule(writer: _Writer, op: Operation) -> None:
        writer.call(op, "section_step", repr(step), prefix=prefix)

    return rule


def _math(method: str) -> Rule:
    def rule(writer: _Writer, op: math.MathOp) -> None:
        writer.call(op, method, writer.constant(op.init_key()), *op.operands)

    return rule


def _unary_scalar(writer: _Writer, op: sfpu.UnaryScalarOp) -> None:
    key = writer.constant(op.init_key())
    writer.call(op, "unary_scalar", key, repr(op.function.data), op.dst, op.bits)


def _fill(writer: _Writer, op: sfpu.FillOp) -> None:
    writer.call(op, "fill", writer.constant(op.init_key()), op.dst, op.value_bits)


def _fill_word(writer: _Writer, op: sfpu.FillWordOp) -> None:
    key = writer.constant(op.init_key())
    writer.call(op, "fill_word", key, writer.constant(Format(op.format_name.data)), *op.operands)


def _pack(writer: _Writer, op: sfpu.PackOp) -> None:
    writer.call(op, "pack", op.dst, op.cb, "None" if op.index is None else op.index)


_RULES: Mapping[str, Rule] = {
    "arith.constant": _nothing,
    "arith.addi": _arithmetic(f"({{0}} + {{1}}) & {MASK}"),
    "arith.subi": _arithmetic(f"({{0}} - {{1}}) & {MASK}"),
    "arith.muli": _arithmetic(f"({{0}} * {{1}}) & {MASK}"),
    "arith.divui": _arithmetic("{0} // {1}"),
    "arith.remui": _arithmetic("{0} % {1}"),
    "arith.ceildivui": _arithmetic("-(-{0} // {1})"),
    "arith.divsi": _arithmetic(f"_tdiv(_s({{0}}), _s({{1}})) & {MASK}"),
    "arith.remsi": _arithmetic(f"(_s({{0}}) - _tdiv(_s({{0}}), _s({{1}})) * _s({{1}})) & {MASK}"),
    "arith.floordivsi": _arithmetic(f"(_s({{0}}) // _s({{1}})) & {MASK}"),
    "arith.ceildivsi": _arithmetic(f"-(-_s({{0}}) // _s({{1}})) & {MASK}"),
    "arith.minui": _arithmetic("min({0}, {1})"),
    "arith.maxui": _arithmetic("max({0}, {1})"),
    "arith.minsi": _arithmetic(f"min(_s({{0}}), _s({{1}})) & {MASK}"),
    "arith.maxsi": _arithmetic(f"max(_s({{0}}), _s({{1}})) & {MASK}"),
    "arith.andi": _arithmetic("{0} & {1}"),
    "arith.ori": _arithmetic("{0} | {1}"),
    "arith.xori": _arithmetic("{0} ^ {1}"),
    "arith.shli": _arithmetic(f"({{0}} << {{1}}) & {MASK}"),
    "arith.shrui": _arithmetic("{0} >> {1}"),
    "arith.cmpi": _compare,
    "arith.select": _arithmetic("{1} if {0} else {2}"),
    "arith.index_cast": _arithmetic("{0}"),
    "arith.extui": _arithmetic("int({0})"),
    "scf.for": _for,
    "scf.if": _if,
    "scf.yield": _nothing,
    "tensix.end": _nothing,
    "tensix.arg": _by_index("arg"),
    "tensix.arg_at": _arg_at,
    "tensix.ct_arg": _by_index("ct_arg"),
    "tensix.cb": _by_index("cb"),
    "tensix.sem": _by_index("sem"),
    "tensix.raster": _raster,
    "tensix.table": _table,
    "tensix.cb_reserve": _plain("cb_reserve", "yield from "),
    "tensix.cb_push": _plain("cb_push"),
    "tensix.cb_wait": _plain("cb_wait", "yield "),
    "tensix.cb_pop": _plain("cb_pop"),
    "tensix.cb_write_ptr": _plain("cb_write_ptr"),
    "tensix.cb_read_ptr": _plain("cb_read_ptr"),
    "tensix.fill_page": _fill_page,
    "tensix.accessor": _accessor,
    "tensix.noc_read_tile": _plain("noc_read_tile"),
    "tensix.noc_write_tile": _plain("noc_write_tile"),
    "tensix.noc_barrier": lambda writer, op: writer.call(
        op, "noc_barrier", repr(op.kind.data), prefix="yield "
    ),
    "tensix.mcast": _mcast,
    "tensix.sem_set": _plain("sem_set"),
    "tensix.sem_inc": _plain("sem_inc"),
    "tensix.sem_wait": _sem_wait,
    "tensix.sem_mcast": _sem_mcast,
    "tensix.hw_startup": _startup("hw_startup"),
    "tensix.reconfig": _startup("reconfig"),
    "tensix.pack_reconfig": _plain("pack_reconfig"),
    "tensix.pack_l1_acc": lambda writer, op: writer.call(
        op, "pack_l1_acc", bool(op.enabled.value.data)
    ),
    "tensix.init": _init,
    "tensix.dst_acquire": _step("acquire"),
    "tensix.dst_commit": _step("commit"),
    "tensix.dst_wait": _step("wait"),
    "tensix.dst_release": _step("release"),
    "tensix.copy_tile": _math("copy_tile"),
    "tensix.transpose": _math("transpose"),
    "tensix.matmul_tile": _math("matmul_tile"),
    "tensix.matmul_block": _math("matmul_block"),
    "tensix.binary": _math("binary"),
    "tensix.bcast": _math("binary"),
    "tensix.reduce": _math("reduce"),
    "tensix.unary": _math("unary"),
    "tensix.unary_scalar": _unary_scalar,
    "tensix.binary_dst": _math("binary_dst"),
    "tensix.where": _math("where"),
    "tensix.fill": _fill,
    "tensix.fill_word": _fill_word,
    "tensix.typecast": _math("typecast"),
    "tensix.pack": _pack,
}

_BLOCKING_SECTIONS: Mapping[str, Rule] = {
    f"tensix.dst_{step}": _step(step, "yield from ")
    for step in ("acquire", "commit", "wait", "release")
}
