"""The parts of the ``llvm`` dialect that occur in tile kernels.

Triton writes ``llvm.intr.assume`` for ``tl.assume``, and hangs ``llvm.loop_annotation`` on loops
whose body must stay where it is::

    #loop_licm = #llvm.loop_licm<disable = true, versioningDisable = true>
    #loop_annotation = #llvm.loop_annotation<licm = #loop_licm>

Structs and ``llvm.mlir.undef`` occur where code is half lowered.

Loop annotations are records of optional fields. The classes here share one parser and printer and
differ only in a table of fields. Access groups (``parallelAccesses``) are not among them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    IntegerAttr,
    StringAttr,
    VectorType,
    i1,
    i32,
)
from xdsl.ir import (
    Attribute,
    Operation,
    ParametrizedAttribute,
    SSAValue,
    TypeAttribute,
)
from xdsl.irdl import (
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.traits import MemoryWriteEffect, Pure
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.elementwise import Operand, is_float, is_signless_integer, value_of
from tilewright.dialects.members import dialect_of
from tilewright.ir.constraints import Satisfies
from tilewright.ir.text.assembly import AsmOp, Directive
from tilewright.ir.text.elements import ParseState
from tilewright.ir.text.locations import is_location
from tilewright.ir.text.parser import IRParser
from tilewright.ir.text.printer import IRPrinter

# Types.


@irdl_attr_definition
class PointerType(ParametrizedAttribute, TypeAttribute):
    """``!llvm.ptr`` or ``!llvm.ptr<3>``, a pointer into an address space."""

    name = "llvm.ptr"

    address_space: IntegerAttr

    @classmethod
    def get(cls, address_space: int = 0) -> PointerType:
        return cls(IntegerAttr(address_space, i32))

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        if parser.parse_optional_punctuation("<") is None:
            return [IntegerAttr(0, i32)]
        address_space = parser.parse_integer(allow_boolean=False, allow_negative=False)
        parser.parse_punctuation(">")
        return [IntegerAttr(address_space, i32)]

    def print_parameters(self, printer: Printer) -> None:
        if space := self.address_space.value.data:
            printer.print_string(f"<{space}>")


@irdl_attr_definition
class StructType(ParametrizedAttribute, TypeAttribute):
    """``!llvm.struct<(i32, f32)>``: several values in one, by position."""

    name = "llvm.struct"

    elements: ArrayAttr[Attribute]

    @classmethod
    def get(cls, *elements: Attribute) -> StructType:
        return cls(ArrayAttr(elements))

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        def parse_element() -> Attribute:
            # Inside a struct, types of this dialect may leave out `!llvm.`.
            for type in (PointerType, StructType):
                if parser.parse_optional_keyword(type.name.removeprefix("llvm.")) is not None:
                    return type.new(type.parse_parameters(parser))
            return parser.parse_type()

        parser.parse_punctuation("<")
        elements = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parse_element)
        parser.parse_punctuation(">")
        return [ArrayAttr(elements)]

    def print_parameters(self, printer: Printer) -> None:
        def print_element(type: Attribute) -> None:
            if isinstance(type, (PointerType, StructType)):
                printer.print_string(type.name.removeprefix("llvm."))
                type.print_parameters(printer)
            else:
                printer.print_attribute(type)

        printer.print_string("<(")
        printer.print_list(self.elements.data, print_element)
        printer.print_string(")>")


LLVM_TYPE = Satisfies(
    "LLVM dialect-compatible type",
    lambda type: (
        isinstance(type, (PointerType, StructType, VectorType))
        or is_float(type)
        or is_signless_integer(type)
    ),
)


# Loop annotations.

Field: TypeAlias = "type[LoopOptions] | str"
"""What a field holds: another record, or a ``bool``, an ``integer`` or a ``location``."""

LOOP_FIELDS: dict[str, Mapping[str, Field]] = {}
"""Names and kinds of the fields of each kind of record, in the order they print."""


@dataclass(frozen=True, init=False)  # makes `options` count when records are compared
class LoopOptions(ParametrizedAttribute):
    """Base of the records: ``<name = value, ...>``, fields in a fixed order, all optional."""

    options: DictionaryAttr

    @classmethod
    def of(cls, **options: Attribute) -> LoopOptions:
        """A record with the given fields."""
        return cls.new([DictionaryAttr(options)])

    @classmethod
    def fields(cls) -> Mapping[str, Field]:
        return LOOP_FIELDS[cls.name]

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        assert isinstance(parser, IRParser)
        return [DictionaryAttr(_parse_options(parser, cls.fields()))]

    def print_parameters(self, printer: Printer) -> None:
        _print_options(printer, self.options.data, self.fields())

    def verify(self) -> None:
        fields = self.fields()
        for name, value in self.options.data.items():
            if name not in fields or not _fits(value, fields[name]):
                raise VerifyException(f"'{value}' cannot be '{name}' of #{self.name}")


def _fits(value: Attribute, field: Field) -> bool:
    match field:
        case "bool":
            return isinstance(value, IntegerAttr) and value.type == i1
        case "integer":
            return isinstance(value, IntegerAttr) and value.type != i1
        case "location":
            return is_location(value)
        case _:
            return not isinstance(field, str) and isinstance(value, field)


def _parse_options(parser: IRParser, fields: Mapping[str, Field]) -> dict[str, Attribute]:
    options: dict[str, Attribute] = {}

    def parse_option() -> None:
        start = parser.pos
        name = parser.parse_identifier()
        if name not in fields or name in options:
            parser.raise_error(f"duplicate or unknown struct parameter name: {name}", start)
        parser.parse_punctuation("=")
        field = fields[name]
        if parser.next_text == "<" and not isinstance(field, str):
            options[name] = parser.parse_bare(field)
        else:
            options[name] = parser.parse_attribute()

    parser.parse_comma_separated_list(parser.Delimiter.ANGLE, parse_option)
    return options


def _print_options(
    printer: Printer, options: Mapping[str, Attribute], fields: Mapping[str, Field]
) -> None:
    printer.print_string("<")
    separator = ""
    for name, field in fields.items():
        if name not in options:
            continue
        printer.print_string(f"{separator}{name} = ")
        separator = ", "
        if isinstance(field, str) or not isinstance(printer, IRPrinter):
            printer.print_attribute(options[name])
        else:
            printer.print_stripped(options[name])
    printer.print_string(">")


@irdl_attr_definition
class LoopVectorizeAttr(LoopOptions):
    name = "llvm.loop_vectorize"
    ASM_ALIAS: ClassVar[str] = "loop_vectorize"


@irdl_attr_definition
class LoopInterleaveAttr(LoopOptions):
    name = "llvm.loop_interleave"
    ASM_ALIAS: ClassVar[str] = "loop_interleave"


@irdl_attr_definition
class LoopUnrollAttr(LoopOptions):
    name = "llvm.loop_unroll"
    ASM_ALIAS: ClassVar[str] = "loop_unroll"


@irdl_attr_definition
class LoopUnrollAndJamAttr(LoopOptions):
    name = "llvm.loop_unroll_and_jam"
    ASM_ALIAS: ClassVar[str] = "loop_unroll_and_jam"


@irdl_attr_definition
class LoopLICMAttr(LoopOptions):
    name = "llvm.loop_licm"
    ASM_ALIAS: ClassVar[str] = "loop_licm"


@irdl_attr_definition
class LoopDistributeAttr(LoopOptions):
    name = "llvm.loop_distribute"
    ASM_ALIAS: ClassVar[str] = "loop_distribute"


@irdl_attr_definition
class LoopPipelineAttr(LoopOptions):
    name = "llvm.loop_pipeline"
    ASM_ALIAS: ClassVar[str] = "loop_pipeline"


@irdl_attr_definition
class LoopPeeledAttr(LoopOptions):
    name = "llvm.loop_peeled"
    ASM_ALIAS: ClassVar[str] = "loop_peeled"


@irdl_attr_definition
class LoopUnswitchAttr(LoopOptions):
    name = "llvm.loop_unswitch"
    ASM_ALIAS: ClassVar[str] = "loop_unswitch"


@irdl_attr_definition
class LoopAnnotationAttr(LoopOptions):
    name = "llvm.loop_annotation"
    ASM_ALIAS: ClassVar[str] = "loop_annotation"


def _followups(*names: str) -> dict[str, Field]:
    """Annotations for the loops that result from a transformation."""
    return {f"followup{name}": LoopAnnotationAttr for name in (*names, "All")}


LOOP_FIELDS.update(
    {
        LoopVectorizeAttr.name: {
            "disable": "bool",
            "predicateEnable": "bool",
            "scalableEnable": "bool",
            "width": "integer",
            **_followups("Vectorized", "Epilogue"),
        },
        LoopInterleaveAttr.name: {"count": "integer"},
        LoopUnrollAttr.name: {
            "disable": "bool",
            "count": "integer",
            "runtimeDisable": "bool",
            "full": "bool",
            **_followups("Unrolled", "Remainder"),
        },
        LoopUnrollAndJamAttr.name: {
            "disable": "bool",
            "count": "integer",
            **_followups("Outer", "Inner", "RemainderOuter", "RemainderInner"),
        },
        LoopLICMAttr.name: {"disable": "bool", "versioningDisable": "bool"},
        LoopDistributeAttr.name: {
            "disable": "bool",
            **_followups("Coincident", "Sequential", "Fallback"),
        },
        LoopPipelineAttr.name: {"disable": "bool", "initiationinterval": "integer"},
        LoopPeeledAttr.name: {"count": "integer"},
        LoopUnswitchAttr.name: {"partialDisable": "bool"},
        LoopAnnotationAttr.name: {
            "disableNonforced": "bool",
            "vectorize": LoopVectorizeAttr,
            "interleave": LoopInterleaveAttr,
            "unroll": LoopUnrollAttr,
            "unrollAndJam": LoopUnrollAndJamAttr,
            "licm": LoopLICMAttr,
            "distribute": LoopDistributeAttr,
            "pipeline": LoopPipelineAttr,
            "peeled": LoopPeeledAttr,
            "unswitch": LoopUnswitchAttr,
            "mustProgress": "bool",
            "isVectorized": "bool",
            "startLoc": "location",
            "endLoc": "location",
        },
    }
)


# Assumptions.


def _parse_bundles(parser: IRParser, state: ParseState) -> bool:
    """``["tag"(%a, %b : i32, i32), ...]``: properties of values, each with a name."""
    state.operands["bundle_operands"], state.types["bundle_operands"] = [], ()
    state.properties["op_bundle_sizes"] = DenseArrayBase.from_list(i32, [])
    if parser.next_text != "[":
        return False
    tags: list[StringAttr] = []
    sizes: list[int] = []
    types: list[Attribute] = []

    def parse_bundle() -> None:
        tags.append(StringAttr(parser.parse_str_literal()))
        parser.parse_punctuation("(")
        names: list[Any] = []
        if parser.next_text != ")":
            names = parser.parse_comma_separated_list(
                parser.Delimiter.NONE, parser.parse_unresolved_operand
            )
            parser.parse_punctuation(":")
            types.extend(
                parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
            )
        parser.parse_punctuation(")")
        state.operands["bundle_operands"].extend(names)
        sizes.append(len(names))

    parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parse_bundle)
    state.types["bundle_operands"] = types
    state.properties["op_bundle_sizes"] = DenseArrayBase.from_list(i32, sizes)
    if tags:
        state.properties["op_bundle_tags"] = ArrayAttr(tags)
    return True


def _print_bundles(printer: IRPrinter, op: AssumeOp) -> None:
    def print_bundle(bundle: tuple[str, Sequence[SSAValue]]) -> None:
        tag, operands = bundle
        printer.print_string_literal(tag)
        printer.print_string("(")
        if operands:
            printer.print_list(operands, printer.print_operand)
            printer.print_string(" : ")
            printer.print_list([value.type for value in operands], printer.print_attribute)
        printer.print_string(")")

    printer.print_string("[")
    printer.print_list(op.bundles, print_bundle)
    printer.print_string("]")


@irdl_op_definition
class AssumeOp(AsmOp):
    """Asserts to later stages that its operand is true, and properties in operand bundles."""

    name = "llvm.intr.assume"
    condition = operand_def(i1)
    bundle_operands = var_operand_def(LLVM_TYPE)
    bundle_sizes = prop_def(DenseArrayBase.constr(i32), prop_name="op_bundle_sizes")
    bundle_tags = opt_prop_def(ArrayAttr[StringAttr], prop_name="op_bundle_tags")

    # Not removable, not movable across other effects: that is all "writes" stands for here.
    traits = traits_def(MemoryWriteEffect())
    ASM: ClassVar[str] = (
        "$condition (custom<Bundles>($op_bundle_sizes, $op_bundle_tags)^)? "
        "`:` type($condition) attr-dict"
    )
    DIRECTIVES: ClassVar[Mapping[str, Directive]] = {
        "Bundles": Directive(
            _parse_bundles, _print_bundles, lambda op: bool(op.bundle_sizes.get_values())
        )
    }

    def __init__(
        self, condition: Operand, bundles: Sequence[tuple[str, Sequence[Operand]]] = ()
    ) -> None:
        operands: list[SSAValue] = [value_of(condition)]
        for _, values in bundles:
            operands.extend(value_of(value) for value in values)
        sizes = DenseArrayBase.from_list(i32, [len(values) for _, values in bundles])
        properties: dict[str, Attribute] = {"op_bundle_sizes": sizes}
        if bundles:
            properties["op_bundle_tags"] = ArrayAttr([StringAttr(tag) for tag, _ in bundles])
        Operation.__init__(self, operands=operands, properties=properties)

    @property
    def bundles(self) -> list[tuple[str, Sequence[SSAValue]]]:
        """The tag and the values of each bundle."""
        found: list[tuple[str, Sequence[SSAValue]]] = []
        start = 0
        tags = () if self.bundle_tags is None else self.bundle_tags.data
        for tag, size in zip(tags, self.bundle_sizes.get_values(), strict=True):
            found.append((tag.data, self.bundle_operands[start : start + size]))
            start += size
        return found

    def verify_(self) -> None:
        sizes = self.bundle_sizes.get_values()
        if sum(sizes) != len(self.bundle_operands):
            raise VerifyException(
                f"op_bundle_operands count ({len(self.bundle_operands)}) does not match with the "
                f"total size ({sum(sizes)}) specified in attribute 'op_bundle_sizes'"
            )
        tags = 0 if self.bundle_tags is None else len(self.bundle_tags)
        if tags != len(sizes):
            raise VerifyException(
                f"expected {len(sizes)} operand bundle tags, but actually got {tags}"
            )


@irdl_op_definition
class UndefOp(AsmOp):
    """A value of any bits, the start of a struct that is filled field by field."""

    name = "llvm.mlir.undef"
    result = result_def(LLVM_TYPE)

    traits = traits_def(Pure())
    ASM: ClassVar[str] = "attr-dict `:` type($result)"

    def __init__(self, type: Attribute) -> None:
        Operation.__init__(self, result_types=(type,))


Llvm = dialect_of("llvm", globals())
