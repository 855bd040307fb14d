"""``tile.ws``: different code for different threads of a block.

    tile.ws
    role "producer" threads(0 to 128) registers(24) {
      ...
    }
    role "consumer" threads(128 to 384) {
      ...
    }

Each role is run by its threads only, all roles concurrently. Threads of no role pass by, and no
thread waits at the end: what has to be ordered is ordered by barriers. ``custom`` marks roles that
the user wrote: each ``with T.ws(...)`` is an op with one role of its own.

``gpu.thread_id`` is the number in the block, inside a role as outside, so that it can be moved and
merged like any value. Code that counts from the first thread of its role subtracts that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, cast

from typing_extensions import override
from xdsl.dialects.builtin import ArrayAttr, StringAttr
from xdsl.ir import Attribute, Block, Operation, Region
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    prop_def,
    traits_def,
    var_region_def,
)
from xdsl.traits import RecursiveMemoryEffect
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.tile.base import given, mark, mark_prop
from tilewright.dialects.tile.bodies import (
    OnceBranch,
    YieldOp,
    parse_attributes,
    parse_body,
    print_attributes,
    print_body,
)
from tilewright.dialects.tile.kernel import kernel_of
from tilewright.dialects.tile.mixed import (
    Integers,
    integers,
    integers_attr,
    opt_integers,
    opt_integers_prop,
)
from tilewright.ir.constraints import Satisfies
from tilewright.ir.text.parser import IRParser
from tilewright.ir.text.printer import IRPrinter

Range = tuple[int, int]
"""First thread, and the exclusive end."""

_MIN_REGISTERS, _MAX_REGISTERS, _REGISTER_STEP = 24, 240, 8

_NAMES = Satisfies(
    "array of strings",
    lambda attribute: (
        isinstance(attribute, ArrayAttr)
        and all(isinstance(each, StringAttr) for each in attribute.data)
    ),
    (ArrayAttr,),
)
_RANGES = Satisfies(
    "array of thread ranges", lambda attribute: isinstance(attribute, ArrayAttr), (ArrayAttr,)
)


@dataclass(frozen=True)
class Role:
    """The threads of a region: a name, ranges of threads, and a register budget (0 if none)."""

    name: str
    ranges: tuple[Range, ...]
    registers: int = 0

    @property
    def num_threads(self) -> int:
        return sum(stop - start for start, stop in self.ranges)


def role_text(name: str) -> str:
    """The name of a role as the user wrote it: `T.ws(0)` for `group0`."""
    groups = name.removeprefix("group").split("_")
    is_user_written = name.startswith("group") and all(each.isdecimal() for each in groups)
    return f"T.ws({', '.join(groups)})" if is_user_written else name


@irdl_op_definition
class WsOp(IRDLOperation):
    """Runs each of its regions on threads of its own."""

    name = "tile.ws"

    names = cast("ArrayAttr[StringAttr]", prop_def(_NAMES))
    thread_ranges = cast("ArrayAttr[Integers]", prop_def(_RANGES))
    registers = opt_integers_prop()
    custom = mark_prop()
    bodies = var_region_def()

    traits = traits_def(RecursiveMemoryEffect(), OnceBranch())

    def __init__(
        self,
        roles: Sequence[Role],
        bodies: Sequence[Region] | None = None,
        *,
        custom: bool = False,
        attributes: Mapping[str, Attribute] | None = None,
    ) -> None:
        """Without `bodies` each role gets an empty one, ended already."""
        if bodies is None:
            bodies = [Region(Block([YieldOp()])) for _ in roles]
        Operation.__init__(
            self,
            properties=_properties(roles, custom),
            attributes=dict(attributes or {}),
            regions=bodies,
        )

    @property
    def roles(self) -> tuple[Role, ...]:
        budgets = opt_integers(self.registers) or (0,) * len(self.names.data)
        return tuple(
            Role(name.data, _pairs(integers(ranges)), budget)
            for name, ranges, budget in zip(
                self.names.data, self.thread_ranges.data, budgets, strict=True
            )
        )

    @property
    def is_custom(self) -> bool:
        """Whether the user wrote the roles."""
        return self.custom is not None

    @override
    def verify_(self) -> None:
        count = len(self.regions)
        if not count:
            raise VerifyException("requires at least one role")
        sizes = {len(self.names.data), len(self.thread_ranges.data), count}
        if self.registers is not None:
            sizes.add(len(integers(self.registers)))
        if len(sizes) != 1:
            raise VerifyException("every role requires a name, threads and a body")
        roles = self.roles
        for role, region in zip(roles, self.regions, strict=True):
            _verify_role(role, region)
        _verify_disjoint(roles)
        self._verify_block(roles)

    def _verify_block(self, roles: Sequence[Role]) -> None:
        parent = self.parent_op()
        while parent is not None:
            if isinstance(parent, WsOp):
                raise VerifyException("warp-specialised regions cannot be nested")
            parent = parent.parent_op()
        kernel = kernel_of(self)
        threads = None if kernel is None else kernel.num_threads
        if threads is None:
            return
        for role in roles:
            last = max(stop for _, stop in role.ranges)
            if last > threads:
                raise VerifyException(
                    f'role "{role.name}" has threads up to {last}, but the block has {threads}'
                )

    @classmethod
    @override
    def parse(cls, parser: Any) -> WsOp:
        return _parse(parser)

    @override
    def print(self, printer: Any) -> None:
        _print(printer, self)


def _properties(roles: Sequence[Role], custom: bool) -> dict[str, Attribute]:
    budgets = [role.registers for role in roles]
    flat = [[bound for pair in role.ranges for bound in pair] for role in roles]
    return given(
        names=ArrayAttr([StringAttr(role.name) for role in roles]),
        thread_ranges=ArrayAttr([integers_attr(each) for each in flat]),
        registers=integers_attr(budgets) if any(budgets) else None,
        custom=mark(custom),
    )


def _pairs(flat: Sequence[int]) -> tuple[Range, ...]:
    if len(flat) % 2:
        raise VerifyException(f"thread ranges must be pairs of first and last, got {list(flat)}")
    return tuple(zip(flat[::2], flat[1::2], strict=True))


def _verify_role(role: Role, region: Region) -> None:
    block = region.first_block
    if block is None or block is not region.last_block or block.args:
        raise VerifyException(f'role "{role.name}" requires a body of one block without arguments')
    if not role.ranges:
        raise VerifyException(f'role "{role.name}" has no threads')
    for start, stop in role.ranges:
        if not 0 <= start < stop:
            raise VerifyException(
                f'role "{role.name}" has the empty thread range {start} to {stop}'
            )
    budget = role.registers
    if budget and not (_MIN_REGISTERS <= budget <= _MAX_REGISTERS and budget % _REGISTER_STEP == 0):
        raise VerifyException(
            f'role "{role.name}": register budget must be a multiple of {_REGISTER_STEP} '
            f"from {_MIN_REGISTERS} to {_MAX_REGISTERS}, got {budget}"
        )


def _verify_disjoint(roles: Sequence[Role]) -> None:
    spans = sorted((start, stop, role.name) for role in roles for start, stop in role.ranges)
    for (_, stop, name), (start, _, other) in pairwise(spans):
        if start < stop:
            raise VerifyException(f'thread {start} is in role "{name}" and in role "{other}"')


# -- text --------------------------------------------------------------------------------------


def _parse(parser: IRParser) -> WsOp:
    start = parser.pos
    custom = parser.parse_optional_keyword("custom") is not None
    _, attributes = parse_attributes(parser, WsOp)
    roles: list[Role] = []
    bodies: list[Region] = []
    while parser.parse_optional_keyword("role") is not None:
        roles.append(_parse_role(parser))
        bodies.append(parse_body(parser, start))
    return WsOp(roles, bodies, custom=custom, attributes=attributes)


def _parse_role(parser: IRParser) -> Role:
    name = parser.parse_str_literal()
    parser.parse_keyword("threads")
    ranges = parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: _parse_range(parser))
    registers = 0
    if parser.parse_optional_keyword("registers") is not None:
        with parser.in_parens():
            registers = parser.parse_integer(allow_boolean=False)
    return Role(name, tuple(ranges), registers)


def _parse_range(parser: IRParser) -> Range:
    start = parser.parse_integer(allow_boolean=False)
    parser.parse_keyword("to")
    return start, parser.parse_integer(allow_boolean=False)


def _print(printer: IRPrinter, op: WsOp) -> None:
    if op.is_custom:
        printer.print_string(" custom")
    print_attributes(printer, op, tuple(op.properties))
    for role, region in zip(op.roles, op.regions, strict=True):
        printer.print_new_line()
        printer.print_string("role ")
        printer.print_string_literal(role.name)
        ranges = ", ".join(f"{start} to {stop}" for start, stop in role.ranges)
        printer.print_string(f" threads({ranges})")
        if role.registers:
            printer.print_string(f" registers({role.registers})")
        printer.print_string(" ")
        print_body(printer, region)
