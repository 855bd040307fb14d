"""Programs of a core: the whole before the split, one kernel a role after it, and the host's plan.

    tensix.core_program (%start, %count) attributes {names = ["start_id", "count"]} { ... }

    tensix.kernel @reader role(reader) attributes {runtime_args = ["a_addr", "count"]} {
      %a = tensix.arg 0
      ...
    }
    tensix.host_plan @gemm {plan = {version = "2.0", ...}}

`tensix.core_program` replaces `tile.kernel` inside its function: it still uses the tensors of the
function's signature, and its arguments are the run-time arguments of the core. A `tensix.kernel`
is at module level, takes nothing from outside and becomes one source file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, cast

from typing_extensions import override
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, StringAttr, SymbolNameConstraint
from xdsl.ir import Attribute, Block, Operation, OpTrait, Region
from xdsl.irdl import (
    irdl_op_definition,
    lazy_traits_def,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.traits import (
    HasParent,
    IsolatedFromAbove,
    IsTerminator,
    Pure,
    RecursiveMemoryEffect,
    SingleBlockImplicitTerminator,
    SymbolOpInterface,
)
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.tensix.types import Role
from tilewright.dialects.tile.base import (
    KeywordSyntax,
    given,
    keyword_prop,
    mark,
    mark_prop,
)
from tilewright.dialects.tile.bodies import (
    OnceBranch,
    parse_arguments,
    parse_attributes,
    print_arguments,
    print_attributes,
    print_body,
    verify_body,
)
from tilewright.dialects.tile.mixed import INDEX
from tilewright.ir.constraints import Satisfies
from tilewright.ir.text.assembly import AsmOp
from tilewright.ir.text.parser import IRParser
from tilewright.ir.text.printer import IRPrinter
from tilewright.ir.traversal import enclosing

ROLES = KeywordSyntax(tuple(role.value for role in Role))
FIDELITIES = KeywordSyntax(("LoFi", "HiFi2", "HiFi3", "HiFi4"))

HALF_SYNC_TILES = 8
"""DST tiles of 16 bits that math may use while the packer reads the other half."""

NAMES = Satisfies(
    "array of strings",
    lambda attribute: (
        isinstance(attribute, ArrayAttr)
        and all(isinstance(each, StringAttr) for each in attribute.data)
    ),
    (ArrayAttr,),
)


def names_attr(names: Sequence[str]) -> ArrayAttr[Attribute]:
    return ArrayAttr([StringAttr(name) for name in names])


def names_of(attribute: Attribute | None) -> tuple[str, ...]:
    """The strings of an array that may be missing."""
    if not isinstance(attribute, ArrayAttr):
        return ()
    return tuple(cast("StringAttr", each).data for each in attribute)


def _end_traits() -> tuple[OpTrait, ...]:
    from tilewright.dialects.tensix.loops import MatmulKLoopOp

    return Pure(), IsTerminator(), HasParent(KernelOp, CoreProgramOp, MatmulKLoopOp)


@irdl_op_definition
class EndOp(AsmOp):
    """Ends the body of a Tensix op; left out of the text."""

    name = "tensix.end"
    traits = lazy_traits_def(_end_traits)
    ASM: ClassVar[str] = "attr-dict"

    def __init__(self) -> None:
        Operation.__init__(self)


def new_body(count: int, body: Region | None) -> Region:
    """`body`, or an ended body with `count` index arguments for the caller to fill."""
    if body is not None:
        return body
    return Region(Block([EndOp()], arg_types=[INDEX] * count))


def parse_body(
    parser: IRParser, start: int, arguments: Sequence[Parser.Argument] | None = None
) -> Region:
    """A body whose ``tensix.end`` may be left out; `start` is where its op begins."""
    region = parser.parse_region(arguments)
    if region.first_block is None:
        region.add_block(Block())
    block = region.first_block
    last = None if block is None else block.last_op
    if block is not None and (last is None or not last.has_trait(IsTerminator)):
        terminator = EndOp()
        terminator.location = parser.location_at(start)
        block.add_op(terminator)
    return region


@irdl_op_definition
class CoreProgramOp(AsmOp):
    """What one core does, before it is split into reader, compute and writer."""

    name = "tensix.core_program"

    names = opt_prop_def(NAMES)
    """Names of the run-time arguments."""
    body = region_def()

    traits = traits_def(RecursiveMemoryEffect(), SingleBlockImplicitTerminator(EndOp), OnceBranch())

    def __init__(
        self,
        names: Sequence[str],
        body: Region | None = None,
        *,
        attributes: Mapping[str, Attribute] | None = None,
    ) -> None:
        """Without a `body` the program gets an ended one with an index for each name."""
        Operation.__init__(
            self,
            properties={"names": names_attr(names)},
            attributes=dict(attributes or {}),
            regions=(new_body(len(names), body),),
        )

    @property
    def argument_names(self) -> tuple[str, ...]:
        return names_of(self.names)

    @property
    def body_block(self) -> Block:
        return self.body.block

    @override
    def verify_(self) -> None:
        verify_body(self.body, len(self.argument_names), "argument names")

    @classmethod
    @override
    def parse(cls, parser: Any) -> CoreProgramOp:
        return _parse_core_program(parser)

    @override
    def print(self, printer: Any) -> None:
        printer.print_string(" ")
        print_arguments(printer, self.body.block.args)
        print_attributes(printer, self, ())
        printer.print_string(" ")
        print_body(printer, self.body)


def _parse_core_program(parser: IRParser) -> CoreProgramOp:
    start = parser.pos
    arguments = parse_arguments(parser)
    properties, attributes = parse_attributes(parser, CoreProgramOp)
    body = parse_body(parser, start, arguments)
    return CoreProgramOp.create(properties=properties, attributes=attributes, regions=[body])


@irdl_op_definition
class KernelOp(AsmOp):
    """The program of one role; one source file."""

    name = "tensix.kernel"

    sym_name = prop_def(SymbolNameConstraint())
    role_name = keyword_prop(ROLES)
    runtime_args = opt_prop_def(NAMES)
    """Names of the 32-bit arguments of each core, by position."""
    compile_args = opt_prop_def(NAMES)
    """Names of the compile-time arguments, by position; an accessor takes two of them."""
    fp32_dest_acc = mark_prop()
    """DST holds 32-bit elements."""
    dst_full_sync = mark_prop()
    """Math and pack share the whole of DST instead of alternating between halves."""
    math_approx = mark_prop()
    math_fidelity = keyword_prop(FIDELITIES, "HiFi4")
    body = region_def()

    traits = traits_def(
        IsolatedFromAbove(),
        SymbolOpInterface(),
        RecursiveMemoryEffect(),
        SingleBlockImplicitTerminator(EndOp),
        OnceBranch(),
    )

    def __init__(
        self,
        name: str,
        role: Role | str,
        body: Region | None = None,
        *,
        runtime_args: Sequence[str] = (),
        compile_args: Sequence[str] = (),
        fp32_dest_acc: bool = False,
        dst_full_sync: bool = False,
        math_approx: bool = False,
        math_fidelity: str = "HiFi4",
        attributes: Mapping[str, Attribute] | None = None,
    ) -> None:
        """Without a `body` the kernel gets an empty one, ended already."""
        Operation.__init__(
            self,
            properties=given(
                sym_name=StringAttr(name),
                role_name=StringAttr(Role(role).value),
                runtime_args=names_attr(runtime_args) if runtime_args else None,
                compile_args=names_attr(compile_args) if compile_args else None,
                fp32_dest_acc=mark(fp32_dest_acc),
                dst_full_sync=mark(dst_full_sync),
                math_approx=mark(math_approx),
                math_fidelity=StringAttr(math_fidelity),
            ),
            attributes=dict(attributes or {}),
            regions=(new_body(0, body),),
        )

    @property
    def role(self) -> Role:
        return Role(self.role_name.data)

    @property
    def runtime_arg_names(self) -> tuple[str, ...]:
        return names_of(self.runtime_args)

    @property
    def compile_arg_names(self) -> tuple[str, ...]:
        return names_of(self.compile_args)

    @property
    def dst_tiles(self) -> int:
        """DST slots that one section of this kernel has."""
        full = HALF_SYNC_TILES * (2 if self.dst_full_sync is not None else 1)
        return full // (2 if self.fp32_dest_acc is not None else 1)

    @property
    def body_block(self) -> Block:
        return self.body.block

    @override
    def verify_(self) -> None:
        from tilewright.dialects.tensix.protocol import first_violation

        verify_body(self.body, 0, "arguments")
        found = first_violation(self)
        if found is not None:
            raise VerifyException(str(found))

    @classmethod
    @override
    def parse(cls, parser: Any) -> KernelOp:
        return _parse_kernel(parser)

    @override
    def print(self, printer: Any) -> None:
        _print_kernel(printer, self)


_SHOWN = ("sym_name", "role_name")


def _parse_kernel(parser: IRParser) -> KernelOp:
    start = parser.pos
    name = parser.parse_symbol_name()
    parser.parse_keyword("role")
    parser.parse_punctuation("(")
    role = ROLES.parse(parser)
    parser.parse_punctuation(")")
    more, attributes = parse_attributes(parser, KernelOp)
    more.setdefault("math_fidelity", StringAttr("HiFi4"))
    body = parse_body(parser, start)
    return KernelOp.create(
        properties={"sym_name": name, "role_name": role, **more},
        attributes=attributes,
        regions=[body],
    )


def _print_kernel(printer: IRPrinter, op: KernelOp) -> None:
    printer.print_string(" ")
    printer.print_symbol_name(op.sym_name.data)
    printer.print_string(f" role({op.role_name.data})")
    hidden = ("math_fidelity",) if op.math_fidelity.data == "HiFi4" else ()
    print_attributes(printer, op, (*_SHOWN, *hidden))
    printer.print_string(" ")
    print_body(printer, op.body)


@irdl_op_definition
class HostPlanOp(AsmOp):
    """The host's side of a program: the contents of ``main.cpp`` and ``tt.plan.json``."""

    name = "tensix.host_plan"

    sym_name = prop_def(SymbolNameConstraint())
    plan = prop_def(DictionaryAttr)

    traits = traits_def(SymbolOpInterface())

    def __init__(self, name: str, plan: DictionaryAttr) -> None:
        Operation.__init__(self, properties={"sym_name": StringAttr(name), "plan": plan})

    @classmethod
    @override
    def parse(cls, parser: Any) -> HostPlanOp:
        name = parser.parse_symbol_name()
        properties = dict(parser.parse_optional_attr_dict())
        return HostPlanOp.create(properties={"sym_name": name, **properties})

    @override
    def print(self, printer: Any) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        printer.print_op_attributes({"plan": self.plan, **self.attributes})


def kernel_of(op: Operation) -> KernelOp | None:
    """The kernel around `op`; None before the split."""
    return enclosing(op, KernelOp)
