"""Random integer programs, valid by construction, and a small evaluator that says what they mean.

A program is a function of a few integers with arithmetic, comparisons, casts, selects, loops of few
turns and branches. A value that MLIR leaves undefined (a division by zero, a broken promise) is
``None`` and spreads; passes may turn it into anything, so only defined results are compared.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from random import Random

from xdsl.dialects.builtin import FunctionType, IntegerType, ModuleOp, i1, i8, i32, i64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from tilewright.dialects import arith, scf

TYPES = (i1, i8, i32, i64)
BINARY = (
    *(arith.AddiOp, arith.SubiOp, arith.MuliOp, arith.AndiOp, arith.OriOp, arith.XoriOp) * 2,
    *(arith.ShliOp, arith.ShrsiOp, arith.ShruiOp),
    *(arith.DivsiOp, arith.DivuiOp, arith.RemsiOp, arith.RemuiOp),
    *(arith.CeildivsiOp, arith.CeildivuiOp, arith.FloordivsiOp),
    *(arith.MaxsiOp, arith.MaxuiOp, arith.MinsiOp, arith.MinuiOp),
)
FLAGS = [
    arith.IntegerOverflowAttr(flags)
    for flags in (
        [arith.IntegerOverflowFlag.NSW],
        [arith.IntegerOverflowFlag.NUW],
        [arith.IntegerOverflowFlag.NSW, arith.IntegerOverflowFlag.NUW],
    )
]


# Making programs.


class Maker:
    """Appends random ops to a block, using what is visible there."""

    def __init__(self, random: Random):
        self.random = random

    def program(self, size: int) -> ModuleOp:
        arguments = [self.random.choice(TYPES) for _ in range(4)]
        block = Block(arg_types=arguments)
        values: list[SSAValue] = list(block.args)
        self.fill(block, values, size, depth=2)
        results = self.random.sample(values, min(len(values), 5))
        block.add_op(ReturnOp(*results))
        signature = FunctionType.from_lists(arguments, [value.type for value in results])
        return ModuleOp([FuncOp("program", signature, Region(block))])

    def fill(self, block: Block, values: list[SSAValue], size: int, depth: int) -> None:
        for _ in range(size):
            ops = self.step(values, depth)
            block.add_ops(ops)
            values.extend(ops[-1].results)

    def step(self, values: list[SSAValue], depth: int) -> list[Operation]:
        kind = self.random.random()
        if kind < 0.2:
            return [self.constant(self.random.choice(TYPES))]
        if kind < 0.6:
            return self.binary(values)
        if kind < 0.7:
            return self.pair(values, lambda a, b: arith.CmpiOp(self.predicate(), a, b))
        if kind < 0.8:
            return self.cast(values)
        if kind < 0.9 or depth == 0:
            ops, a, b = self.two(values)
            condition = self.of_type(values, i1, ops)
            return [*ops, arith.SelectOp(condition, a, b)]
        return self.loop(values, depth) if kind < 0.95 else self.branch(values, depth)

    def constant(self, type: IntegerType) -> arith.ConstantOp:
        width = type.width.data
        low, high = -(2 ** (width - 1)), 2 ** (width - 1) - 1
        favourites = [0, 0, 1, 1, -1, 2, 3, low, high, self.random.randint(low, high)]
        number = self.random.choice([n for n in favourites if low <= n <= high])
        return arith.ConstantOp.of(number, type)

    def of_type(self, values: list[SSAValue], type: Attribute, ops: list[Operation]) -> SSAValue:
        """A visible value of a type, or a constant that is added to ``ops``."""
        found = [value for value in values if value.type == type]
        if found and self.random.random() < 0.85:
            return self.random.choice(found[-6:])
        assert isinstance(type, IntegerType)
        ops.append(self.constant(type))
        return ops[-1].results[0]

    def two(self, values: list[SSAValue]) -> tuple[list[Operation], SSAValue, SSAValue]:
        ops: list[Operation] = []
        a = self.random.choice(values[-8:])
        b = self.of_type(values, a.type, ops)
        return (ops, a, b) if self.random.random() < 0.7 else (ops, b, a)

    def pair(self, values: list[SSAValue], make) -> list[Operation]:
        ops, a, b = self.two(values)
        return [*ops, make(a, b)]

    def predicate(self) -> str:
        return self.random.choice(list(arith.CMPI_PREDICATES))

    def binary(self, values: list[SSAValue]) -> list[Operation]:
        make = self.random.choice(BINARY)
        ops = self.pair(values, make)
        if "overflowFlags" in ops[-1].properties and self.random.random() < 0.2:
            ops[-1].properties["overflowFlags"] = self.random.choice(FLAGS)
        return ops

    def cast(self, values: list[SSAValue]) -> list[Operation]:
        value = self.random.choice(values[-8:])
        target = self.random.choice([type for type in TYPES if type != value.type])
        assert isinstance(value.type, IntegerType)
        if target.width.data < value.type.width.data:
            return [arith.TrunciOp(value, target)]
        return [self.random.choice([arith.ExtsiOp, arith.ExtuiOp])(value, target)]

    def loop(self, values: list[SSAValue], depth: int) -> list[Operation]:
        numbers = self.random.choice([(0, 0, 1), (0, 1, 1), (2, 3, 5), (0, 3, 1), (-2, 3, 2)])
        bounds = [arith.ConstantOp.of(number, i32) for number in numbers]
        inits = self.random.sample(values, min(len(values), 2))
        body = Block(arg_types=[i32, *(init.type for init in inits)])
        inner = [*values, *body.args]
        self.fill(body, inner, self.random.randint(0, 4), depth - 1)
        body.add_op(scf.YieldOp(self.like(inits, inner, body)))
        return [*bounds, scf.ForOp(*bounds, inits, Region(body))]

    def branch(self, values: list[SSAValue], depth: int) -> list[Operation]:
        ops: list[Operation] = []
        condition = self.of_type(values, i1, ops)
        shape = self.random.sample(values, min(len(values), 2))
        regions: list[Region] = []
        for _ in range(2):
            block = Block()
            inner = list(values)
            self.fill(block, inner, self.random.randint(0, 3), depth - 1)
            block.add_op(scf.YieldOp(self.like(shape, inner, block)))
            regions.append(Region(block))
        return [*ops, scf.IfOp(condition, [value.type for value in shape], *regions)]

    def like(
        self, shape: Sequence[SSAValue], values: list[SSAValue], block: Block
    ) -> list[SSAValue]:
        """Values of the same types; needed constants go to the end of ``block``."""
        found: list[SSAValue] = []
        for value in shape:
            ops: list[Operation] = []
            found.append(self.of_type(values, value.type, ops))
            block.add_ops(ops)
        return found


# What programs mean.


def wrapped(value: int, width: int) -> int:
    value %= 2**width
    return value - 2**width if value >= 2 ** (width - 1) else value


def bits(value: int, width: int) -> int:
    return value % 2**width


def divide(a: int, b: int, width: int, rounding) -> int | None:
    return (
        None
        if b == 0 or wrapped(rounding(Fraction(a, b)), width) != rounding(Fraction(a, b))
        else rounding(Fraction(a, b))
    )


def shift(a: int, b: int, width: int, right: bool) -> int | None:
    amount = bits(b, width)
    if amount >= width:
        return None
    return a >> amount if right else a << amount


def remainder(a: int, b: int, width: int) -> int | None:
    quotient = divide(a, b, width, math.trunc)
    return None if quotient is None else a - b * quotient


MEANING = {
    "arith.addi": lambda a, b, w: a + b,
    "arith.subi": lambda a, b, w: a - b,
    "arith.muli": lambda a, b, w: a * b,
    "arith.andi": lambda a, b, w: a & b,
    "arith.ori": lambda a, b, w: a | b,
    "arith.xori": lambda a, b, w: a ^ b,
    "arith.shli": lambda a, b, w: shift(a, b, w, right=False),
    "arith.shrsi": lambda a, b, w: shift(a, b, w, right=True),
    "arith.shrui": lambda a, b, w: shift(bits(a, w), b, w, right=True),
    "arith.divsi": lambda a, b, w: divide(a, b, w, math.trunc),
    "arith.remsi": remainder,
    "arith.floordivsi": lambda a, b, w: divide(a, b, w, math.floor),
    "arith.ceildivsi": lambda a, b, w: divide(a, b, w, math.ceil),
    "arith.divui": lambda a, b, w: bits(a, w) // bits(b, w) if b else None,
    "arith.remui": lambda a, b, w: bits(a, w) % bits(b, w) if b else None,
    "arith.ceildivui": lambda a, b, w: -(-bits(a, w) // bits(b, w)) if b else None,
    "arith.maxsi": lambda a, b, w: max(a, b),
    "arith.minsi": lambda a, b, w: min(a, b),
    "arith.maxui": lambda a, b, w: max(bits(a, w), bits(b, w)),
    "arith.minui": lambda a, b, w: min(bits(a, w), bits(b, w)),
}
TESTS = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}


class Evaluator:
    """Runs one function on given arguments."""

    def __init__(self) -> None:
        self.values: dict[SSAValue, int | None] = {}

    def run(self, module: ModuleOp, arguments: Sequence[int]) -> list[int | None]:
        function = module.body.block.first_op
        assert isinstance(function, FuncOp)
        block = function.body.block
        self.values.update(zip(block.args, arguments, strict=True))
        return self.block(block)

    def block(self, block: Block) -> list[int | None]:
        """Run a block; the values its terminator hands on."""
        for op in block.ops:
            operands = [self.values[operand] for operand in op.operands]
            if isinstance(op, (ReturnOp, scf.YieldOp)):
                return operands
            results = self.op(op, operands)
            self.values.update(zip(op.results, results, strict=True))
        raise AssertionError("block without a terminator")

    def op(self, op: Operation, operands: list[int | None]) -> list[int | None]:
        if isinstance(op, arith.ConstantOp):
            return [op.value.value.data]
        if isinstance(op, arith.SelectOp):
            return [self.choose(operands[0], operands[1:])]
        if isinstance(op, scf.IfOp):
            return self.branch(op, operands[0])
        if isinstance(op, scf.ForOp):
            return self.loop(op, operands)
        if None in operands:
            return [None]
        type = op.operands[0].type
        assert isinstance(type, IntegerType)
        return [self.arithmetic(op, operands, type.width.data)]

    def choose(self, condition: int | None, values: list[int | None]) -> int | None:
        return None if condition is None else values[0 if condition else 1]

    def branch(self, op: scf.IfOp, condition: int | None) -> list[int | None]:
        if condition is None:
            return [None] * len(op.results)
        region = op.then_region if condition else op.else_region
        return self.block(region.block) if region.blocks else []

    def loop(self, op: scf.ForOp, operands: list[int | None]) -> list[int | None]:
        lower, upper, step, *carried = operands
        assert lower is not None and upper is not None and step is not None
        for turn in range(lower, upper, step):
            self.values.update(zip(op.body_block.args, [turn, *carried], strict=True))
            carried = self.block(op.body_block)
        return carried

    def arithmetic(self, op: Operation, operands: list[int], width: int) -> int | None:
        if isinstance(op, arith.CmpiOp):
            name = op.predicate_name
            if name[0] == "u":
                operands = [bits(operand, width) for operand in operands]
            return -1 if TESTS[name if name in TESTS else name[1:]](*operands) else 0
        if isinstance(op, arith.CastOp):
            target = op.results[0].type
            assert isinstance(target, IntegerType)
            value = bits(operands[0], width) if isinstance(op, arith.ExtuiOp) else operands[0]
            return wrapped(value, target.width.data)
        value = MEANING[op.name](*operands, width)
        if value is None or self.breaks_promise(op, operands, width):
            return None
        return wrapped(value, width)

    def breaks_promise(self, op: Operation, operands: list[int], width: int) -> bool:
        flags = op.properties.get("overflowFlags")
        if not isinstance(flags, arith.IntegerOverflowAttr):
            return False
        signed = MEANING[op.name](*operands, width)
        unsigned = MEANING[op.name](*(bits(operand, width) for operand in operands), width)
        nsw = arith.IntegerOverflowFlag.NSW in flags.data
        nuw = arith.IntegerOverflowFlag.NUW in flags.data
        return (nsw and wrapped(signed, width) != signed) or (
            nuw and bits(unsigned, width) != unsigned
        )


def interesting_arguments(module: ModuleOp, random: Random) -> list[int]:
    function = module.body.block.first_op
    assert isinstance(function, FuncOp)
    arguments: list[int] = []
    for type in function.function_type.inputs:
        assert isinstance(type, IntegerType)
        low, high = -(2 ** (type.width.data - 1)), 2 ** (type.width.data - 1) - 1
        arguments.append(random.choice([low, high, 0, -1, min(1, high), random.randint(low, high)]))
    return arguments
