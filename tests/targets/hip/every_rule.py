"""One kernel with every op of arithmetic and every conversion, for every type that has it."""

from __future__ import annotations

from collections.abc import Iterator

from tests.targets.hip.emit_support import kernel
from tilewright.targets.cxx import conversions, scalars

INTEGERS = ("i8", "i16", "i32", "i64", "index")
FLOATS = ("f16", "bf16", "f32", "f64")
SMALL = ("f8E4M3FN", "f8E5M2", "f8E4M3FNUZ", "f8E5M2FNUZ")
_BITS = {
    "i1": 1,
    "i8": 8,
    "i16": 16,
    "i32": 32,
    "i64": 64,
    "f16": 16,
    "bf16": 16,
    "f32": 32,
    "f64": 64,
    **dict.fromkeys(SMALL, 8),
}
_COMPARISONS = ("arith.cmpi", "arith.cmpf")
_APART = {"arith.constant", "arith.select", "nv.dp4a", *_COMPARISONS}
_INTEGER_MATH = {"math.absi": 1, "math.ctpop": 1, "math.ctlz": 1, "math.ipowi": 2}
_OPERANDS = {
    **dict.fromkeys(("math.atan2", "math.copysign", "math.powf"), 2),
    "math.fma": 3,
    "arith.negf": 1,
}
_QUESTIONS = ("math.isnan", "math.isinf", "math.isfinite")


def _types(op: str) -> tuple[str, ...]:
    if op in _INTEGER_MATH or op.removeprefix("arith.") in _INTEGER_NAMES:
        return tuple(each for each in INTEGERS if each != "index" or op.startswith("arith."))
    return (*FLOATS, *SMALL)


_INTEGER_NAMES = {
    each.removeprefix("arith.")
    for each in scalars.RULES
    if each.startswith("arith.") and each.endswith(("i", "si", "ui")) and each != "arith.cmpi"
}


class _Writer:
    """Writes statements; every result is stored, so that none can be left out."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.arguments: dict[str, str] = {}
        self.count = 0

    def buffer(self, type: str) -> str:
        name = f"%b_{type}"
        self.arguments.setdefault(name, f"memref<?x{type}, #g>")
        return name

    def operand(self, type: str, position: int) -> str:
        self.count += 1
        name = f"%x{self.count}"
        at = f"%p{position}"
        self.lines.append(f"  {name} = memref.load {self.buffer(type)}[{at}] : {self.memref(type)}")
        return name

    def memref(self, type: str) -> str:
        return f"memref<?x{type}, #g>"

    def stored(self, type: str, text: str) -> None:
        self.count += 1
        self.lines.append(f"  %r{self.count} = {text}")
        self.lines.append(
            f"  memref.store %r{self.count}, {self.buffer(type)}[%q] : {self.memref(type)}"
        )


def _casts() -> Iterator[tuple[str, str, str]]:
    every = (*FLOATS, *SMALL)
    for source in every:
        for target in every:
            if _BITS[source] < _BITS[target]:
                yield "arith.extf", source, target
            elif _BITS[source] > _BITS[target]:
                yield "arith.truncf", source, target
        for target in ("i8", "i16", "i32", "i64"):
            yield "arith.fptosi", source, target
            yield "arith.fptoui", source, target
            yield "arith.sitofp", target, source
            yield "arith.uitofp", target, source
        for target in ("i8", "i16", "i32", "i64"):
            if _BITS[source] == _BITS[target]:
                yield "arith.bitcast", source, target
                yield "arith.bitcast", target, source
        yield "arith.uitofp", "i1", source
    for source in ("i1", "i8", "i16", "i32", "i64"):
        for target in ("i1", "i8", "i16", "i32", "i64"):
            if _BITS[source] < _BITS[target]:
                yield "arith.extsi", source, target
                yield "arith.extui", source, target
            elif _BITS[source] > _BITS[target]:
                yield "arith.trunci", source, target
    for type in ("i8", "i16", "i32", "i64"):
        yield "arith.index_cast", type, "index"
        yield "arith.index_cast", "index", type
        yield "arith.index_castui", type, "index"


def every_rule(floats: tuple[str, ...] = (*FLOATS, *SMALL)) -> str:
    """The kernel; `floats` are the types to use."""
    writer = _Writer()
    skipped = {*FLOATS, *SMALL} - {*floats}
    for op in scalars.RULES:
        if op in _APART:
            continue
        for type in _types(op):
            if type in skipped:
                continue
            count = _OPERANDS.get(op, _INTEGER_MATH.get(op, 1 if op.startswith("math.") else 2))
            operands = ", ".join(writer.operand(type, each) for each in range(count))
            if op in _QUESTIONS:
                writer.stored("i1", f"{op} {operands} : {type}")
            else:
                writer.stored(type, f"{op} {operands} : {type}")
    operands = ", ".join(writer.operand("i32", each) for each in range(3))
    writer.stored("i32", f"nv.dp4a {operands}")
    for type in (*INTEGERS, *floats):
        is_integer = type in INTEGERS
        kinds = ("eq", "slt", "ult", "uge") if is_integer else ("oeq", "one", "ult", "ueq", "uno")
        for kind in kinds:
            operands = ", ".join(writer.operand(type, each) for each in range(2))
            op = "arith.cmpi" if is_integer else "arith.cmpf"
            writer.stored("i1", f"{op} {kind}, {operands} : {type}")
        if type != "index":
            test = writer.operand("i1", 0)
            operands = ", ".join(writer.operand(type, each) for each in range(2))
            writer.stored(type, f"arith.select {test}, {operands} : {type}")
    for op, source, target in _casts():
        if {source, target} & skipped:
            continue
        writer.stored(target, f"{op} {writer.operand(source, 0)} : {source} to {target}")
    for type in floats:
        for value in ("1.5", "-0.25"):
            writer.stored(type, f"arith.constant {value} : {type}")
    used = {line.split(" = ")[1].split()[0] for line in writer.lines if " = " in line}
    expected = {*scalars.RULES, *conversions.RULES}
    assert expected <= used, expected - used
    arguments = [f"{name}: {type}" for name, type in writer.arguments.items()]
    indices = [f"%p{index}: index" for index in range(3)]
    return kernel("\n".join(writer.lines), ", ".join([*arguments, *indices, "%q: index"]))
