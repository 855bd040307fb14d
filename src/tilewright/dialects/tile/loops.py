"""Loops of the tile level.

    tile.parallel (%i, %j) in (128, %n) { ... }
        all points, in any order, exactly once; no thread is named
    tile.pipeline %k = 0 to %n num_stages(3) { ... }
        a serial loop whose iterations may overlap, with the results of the serial loop
    tile.persistent (%m, %n) in (%tiles_m, 16) wave %blocks index %b group 8 { ... }
        the tiles of a domain that fall to worker `index` of `wave`, in grouped order

Ordinary serial loops are ``scf.for``; ``tile.unroll``, ``tile.unroll_factor`` and
``tile.vectorize`` on them are requests of the user.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, cast

from typing_extensions import override
from xdsl.dialects.builtin import ArrayAttr, BoolAttr, DenseArrayBase, IntegerAttr, i32
from xdsl.ir import Attribute, BlockArgument, Operation, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    region_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import RecursiveMemoryEffect, SingleBlockImplicitTerminator
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.tile.attributes import (
    FragmentAttr,
    LayoutAttr,
    PipelinePlanAttr,
    schedule_problem,
)
from tilewright.dialects.tile.base import (
    Operand,
    given,
    integer_attr,
    integer_of,
    integer_prop,
    opt_integer_prop,
)
from tilewright.dialects.tile.bodies import (
    BodyOp,
    LoopBranch,
    YieldOp,
    new_body,
    parse_arguments,
    parse_attributes,
    parse_body,
    parse_integers,
    print_arguments,
    print_attributes,
    print_body,
    print_integers,
    verify_body,
)
from tilewright.dialects.tile.mixed import (
    INDEX,
    Mixed,
    MixedOperand,
    integers_attr,
    integers_prop,
    join,
    opt_integers,
    opt_integers_attr,
    opt_integers_prop,
    parse_mixed,
    parse_mixed_value,
    print_mixed,
    print_mixed_value,
    resolve_indices,
    split,
    split_unresolved,
    verify_mixed,
)
from tilewright.ir.constraints import instance_of
from tilewright.ir.text.parser import IRParser
from tilewright.ir.text.printer import IRPrinter

LAYOUT = instance_of("#tile.layout or #tile.fragment", LayoutAttr, FragmentAttr)


def _verify_extents(extents: Sequence[Mixed], what: str) -> None:
    for extent in extents:
        if isinstance(extent, int) and extent < 0:
            raise VerifyException(f"{what} must not be negative, got {extent}")


# -- tile.parallel -----------------------------------------------------------------------------


@irdl_op_definition
class ParallelOp(BodyOp):
    """Runs its body for every point of a box, in any order."""

    name = "tile.parallel"
    MIXED: ClassVar[tuple[str, ...]] = ("extents",)

    dynamic_extents = var_operand_def(INDEX)
    static_extents = integers_prop()
    coalesced_width = opt_integer_prop()
    layout = opt_prop_def(LAYOUT)
    prefer_async = opt_prop_def(BoolAttr)
    body = region_def()

    traits = traits_def(
        RecursiveMemoryEffect(), SingleBlockImplicitTerminator(YieldOp), LoopBranch()
    )

    def __init__(
        self,
        extents: Sequence[MixedOperand],
        body: Region | None = None,
        *,
        coalesced_width: int | None = None,
        layout: LayoutAttr | FragmentAttr | None = None,
        prefer_async: bool | None = None,
        attributes: Mapping[str, Attribute] | None = None,
    ) -> None:
        static, dynamic = split(extents)
        Operation.__init__(
            self,
            operands=dynamic,
            properties=given(
                static_extents=static,
                coalesced_width=integer_attr(coalesced_width),
                layout=layout,
                prefer_async=None if prefer_async is None else BoolAttr.from_bool(prefer_async),
            ),
            attributes=dict(attributes or {}),
            regions=(new_body(len(extents), body),),
        )

    @property
    def extents(self) -> tuple[Mixed, ...]:
        return join(self.static_extents, self.dynamic_extents)

    @property
    def ranges(self) -> tuple[tuple[Mixed, Mixed], ...]:
        """First value of each index, and the exclusive end."""
        return tuple((0, extent) for extent in self.extents)

    @override
    def verify_(self) -> None:
        verify_mixed("extents", self.static_extents, self.dynamic_extents)
        extents = self.extents
        if not extents:
            raise VerifyException("needs at least one extent")
        _verify_extents(extents, "an extent")
        verify_body(self.body, len(extents), "extents")
        width = integer_of(self.coalesced_width)
        if width is not None and width < 1:
            raise VerifyException(f"coalesced_width must be positive, got {width}")
        self._verify_layout(extents)

    def _verify_layout(self, extents: Sequence[Mixed]) -> None:
        if self.layout is None:
            return
        layout = cast("LayoutAttr | FragmentAttr", self.layout)
        if layout.data.extents != extents:
            raise VerifyException(
                f"the layout is for a loop over {list(layout.data.extents)}, but this one is over "
                f"{_shown(extents)}"
            )

    @classmethod
    @override
    def parse(cls, parser: Any) -> ParallelOp:
        return _parse_parallel(parser)

    @override
    def print(self, printer: Any) -> None:
        _print_parallel(printer, self)


def _shown(extents: Sequence[Mixed]) -> list[int | str]:
    return [extent if isinstance(extent, int) else "?" for extent in extents]


def _parse_parallel(parser: IRParser) -> ParallelOp:
    start = parser.pos
    arguments = parse_arguments(parser)
    parser.parse_keyword("in")
    static, names = parse_mixed(parser, parser.Delimiter.PAREN)
    properties, attributes = parse_attributes(parser, ParallelOp)
    operands = resolve_indices(parser, names)
    body = parse_body(parser, start, arguments)
    return ParallelOp.create(
        operands=operands,
        properties={"static_extents": static, **properties},
        attributes=attributes,
        regions=[body],
    )


def _print_parallel(printer: IRPrinter, op: ParallelOp) -> None:
    printer.print_string(" ")
    print_arguments(printer, op.arguments)
    printer.print_string(" in ")
    print_mixed(printer, op.extents, "()")
    print_attributes(printer, op, ("static_extents",))
    printer.print_string(" ")
    print_body(printer, op.body)


# -- tile.pipeline -----------------------------------------------------------------------------


@irdl_op_definition
class PipelineOp(BodyOp):
    """A loop with step 1 whose iterations may overlap.

    `stage` and `order` are the user's schedule, one integer per scheduled op of the body;
    `plan` is the schedule the compiler has chosen.
    """

    name = "tile.pipeline"
    MIXED: ClassVar[tuple[str, ...]] = ("bounds",)

    dynamic_bounds = var_operand_def(INDEX)
    static_bounds = integers_prop()
    num_stages = integer_prop(0)
    stage = opt_integers_prop()
    order = opt_integers_prop()
    group = opt_prop_def(ArrayAttr)
    sync = opt_prop_def(ArrayAttr)
    plan = opt_prop_def(PipelinePlanAttr)
    body = region_def()

    traits = traits_def(
        RecursiveMemoryEffect(), SingleBlockImplicitTerminator(YieldOp), LoopBranch()
    )

    def __init__(
        self,
        lower: MixedOperand,
        upper: MixedOperand,
        body: Region | None = None,
        *,
        num_stages: int = 0,
        stage: Sequence[int] | None = None,
        order: Sequence[int] | None = None,
        group: Sequence[Sequence[int]] | None = None,
        sync: Sequence[Sequence[int]] | None = None,
        plan: PipelinePlanAttr | None = None,
        attributes: Mapping[str, Attribute] | None = None,
    ) -> None:
        static, dynamic = split((lower, upper))
        Operation.__init__(
            self,
            operands=dynamic,
            properties=given(
                static_bounds=static,
                num_stages=integer_attr(num_stages),
                stage=opt_integers_attr(stage),
                order=opt_integers_attr(order),
                group=_lists(group),
                sync=_lists(sync),
                plan=plan,
            ),
            attributes=dict(attributes or {}),
            regions=(new_body(1, body),),
        )

    @property
    def lower(self) -> Mixed:
        return join(self.static_bounds, self.dynamic_bounds)[0]

    @property
    def upper(self) -> Mixed:
        return join(self.static_bounds, self.dynamic_bounds)[1]

    @property
    def induction_variable(self) -> BlockArgument:
        return self.body.block.args[0]

    @property
    def ranges(self) -> tuple[tuple[Mixed, Mixed], ...]:
        """First value of the index, and the exclusive end."""
        return ((self.lower, self.upper),)

    @property
    def stages(self) -> int:
        """The depth requested by the user; 0 is a serial loop."""
        return self.num_stages.value.data

    @property
    def manual_stage(self) -> tuple[int, ...] | None:
        return opt_integers(self.stage)

    @property
    def manual_order(self) -> tuple[int, ...] | None:
        return opt_integers(self.order)

    @override
    def verify_(self) -> None:
        verify_mixed("bounds", self.static_bounds, self.dynamic_bounds)
        if len(self.static_bounds.get_values()) != 2:
            raise VerifyException("takes a lower and an upper bound")
        verify_body(self.body, 1, "loop variable")
        if self.stages < 0:
            raise VerifyException(f"num_stages must not be negative, got {self.stages}")
        stage, order = self.manual_stage, self.manual_order
        if (stage is None) != (order is None):
            given_one = "stage" if order is None else "order"
            raise VerifyException(
                f"stage and order must be given together, but only {given_one} is given"
            )
        if stage is None or order is None:
            return
        problem = schedule_problem(stage, order)
        if problem is not None:
            raise VerifyException(problem)

    @classmethod
    @override
    def parse(cls, parser: Any) -> PipelineOp:
        return _parse_pipeline(parser)

    @override
    def print(self, printer: Any) -> None:
        _print_pipeline(printer, self)


def _lists(lists: Sequence[Sequence[int]] | None) -> ArrayAttr[Attribute] | None:
    return None if lists is None else ArrayAttr([integers_attr(each) for each in lists])


def _parse_pipeline(parser: IRParser) -> PipelineOp:
    start = parser.pos
    argument = parser.resolve_argument(parser.parse_argument(expect_type=False), INDEX)
    parser.parse_punctuation("=")
    lower = parse_mixed_value(parser)
    parser.parse_keyword("to")
    static, names = split_unresolved([lower, parse_mixed_value(parser)])
    properties: dict[str, Attribute] = {"static_bounds": static}
    if parser.parse_optional_keyword("num_stages") is not None:
        with parser.in_parens():
            properties["num_stages"] = _integer(parser.parse_integer(allow_boolean=False))
    for keyword in ("stage", "order"):
        if parser.parse_optional_keyword(keyword) is not None:
            properties[keyword] = integers_attr(parse_integers(parser))
    if parser.parse_optional_keyword("plan") is not None:
        properties["plan"] = parser.parse_attribute()
    more, attributes = parse_attributes(parser, PipelineOp)
    properties.update(more)
    properties.setdefault("num_stages", _integer(0))
    operands = resolve_indices(parser, names)
    body = parse_body(parser, start, [argument])
    return PipelineOp.create(
        operands=operands, properties=properties, attributes=attributes, regions=[body]
    )


def _integer(value: int) -> IntegerAttr:
    found = integer_attr(value)
    assert found is not None
    return found


def _print_pipeline(printer: IRPrinter, op: PipelineOp) -> None:
    printer.print_string(" ")
    printer.print_operand(op.induction_variable)
    printer.print_string(" = ")
    print_mixed_value(printer, op.lower)
    printer.print_string(" to ")
    print_mixed_value(printer, op.upper)
    print_integers(printer, "num_stages", (op.stages,) if op.stages else None)
    print_integers(printer, "stage", op.manual_stage)
    print_integers(printer, "order", op.manual_order)
    if op.plan is not None:
        printer.print_string(" plan ")
        printer.print_attribute(op.plan)
    print_attributes(printer, op, ("static_bounds", "num_stages", "stage", "order", "plan"))
    printer.print_string(" ")
    print_body(printer, op.body)


# -- tile.persistent ---------------------------------------------------------------------------


@irdl_op_definition
class PersistentOp(BodyOp):
    """The tiles of `domain` that worker `index` of `wave_size` visits.

    With ``g = max(1, min(group, d_last))`` tile ``t = iteration * wave_size + index`` is decoded
    with the radices ``(ceildiv(d_last, g), d_0, ..., d_{n-2}, g)``; the last coordinate is the
    first digit times ``g`` plus the last digit, and a tile past the end is skipped.
    """

    name = "tile.persistent"
    MIXED: ClassVar[tuple[str, ...]] = ("domain", "wave")

    dynamic_domain = var_operand_def(INDEX)
    dynamic_wave = var_operand_def(INDEX)
    index = operand_def(INDEX)
    static_domain = integers_prop()
    static_wave = integers_prop()
    group = integer_prop(8)
    body = region_def()

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(
        RecursiveMemoryEffect(), SingleBlockImplicitTerminator(YieldOp), LoopBranch()
    )

    def __init__(
        self,
        domain: Sequence[MixedOperand],
        wave_size: MixedOperand,
        index: Operand,
        body: Region | None = None,
        *,
        group_size: int = 8,
        attributes: Mapping[str, Attribute] | None = None,
    ) -> None:
        static_domain, dynamic_domain = split(domain)
        static_wave, dynamic_wave = split((wave_size,))
        super().__init__(
            operands=[dynamic_domain, dynamic_wave, index],
            properties=given(
                static_domain=static_domain, static_wave=static_wave, group=integer_attr(group_size)
            ),
            attributes=dict(attributes or {}),
            regions=[new_body(len(domain), body)],
        )

    @property
    def domain(self) -> tuple[Mixed, ...]:
        return join(self.static_domain, self.dynamic_domain)

    @property
    def wave_size(self) -> Mixed:
        return join(self.static_wave, self.dynamic_wave)[0]

    @property
    def group_size(self) -> int:
        return self.group.value.data

    @property
    def ranges(self) -> tuple[tuple[Mixed, Mixed], ...]:
        """First value of each index, and the exclusive end."""
        return tuple((0, extent) for extent in self.domain)

    @override
    def verify_(self) -> None:
        verify_mixed("domain", self.static_domain, self.dynamic_domain)
        verify_mixed("wave", self.static_wave, self.dynamic_wave)
        domain = self.domain
        if not domain:
            raise VerifyException("needs a domain of at least one dimension")
        _verify_extents(domain, "the extent of a domain")
        wave = self.wave_size
        if isinstance(wave, int) and wave < 1:
            raise VerifyException(f"wave size must be at least 1, got {wave}")
        if self.group_size < 1:
            raise VerifyException(f"group size must be at least 1, got {self.group_size}")
        verify_body(self.body, len(domain), "dimensions")

    @classmethod
    @override
    def parse(cls, parser: Any) -> PersistentOp:
        return _parse_persistent(parser)

    @override
    def print(self, printer: Any) -> None:
        _print_persistent(printer, self)


def _parse_persistent(parser: IRParser) -> PersistentOp:
    start = parser.pos
    arguments = parse_arguments(parser)
    parser.parse_keyword("in")
    static_domain, domain = parse_mixed(parser, parser.Delimiter.PAREN)
    parser.parse_keyword("wave")
    static_wave, wave = split_unresolved([parse_mixed_value(parser)])
    parser.parse_keyword("index")
    index = parser.parse_unresolved_operand()
    parser.parse_keyword("group")
    group = parser.parse_integer(allow_boolean=False)
    _, attributes = parse_attributes(parser, PersistentOp)
    operands: list[SSAValue] = [
        *resolve_indices(parser, domain),
        *resolve_indices(parser, wave),
        *resolve_indices(parser, [index]),
    ]
    body = parse_body(parser, start, arguments)
    return PersistentOp.create(
        operands=operands,
        properties={
            "static_domain": static_domain,
            "static_wave": static_wave,
            "group": _integer(group),
            "operandSegmentSizes": _segments(len(domain), len(wave), 1),
        },
        attributes=attributes,
        regions=[body],
    )


def _segments(*sizes: int) -> Attribute:
    return DenseArrayBase.from_list(i32, sizes)


def _print_persistent(printer: IRPrinter, op: PersistentOp) -> None:
    printer.print_string(" ")
    print_arguments(printer, op.arguments)
    printer.print_string(" in ")
    print_mixed(printer, op.domain, "()")
    printer.print_string(" wave ")
    print_mixed_value(printer, op.wave_size)
    printer.print_string(" index ")
    printer.print_operand(op.index)
    printer.print_string(f" group {op.group_size}")
    print_attributes(printer, op, ("static_domain", "static_wave", "group"))
    printer.print_string(" ")
    print_body(printer, op.body)
