"""What functions of all dialects share: their text, and what a signature has to obey.

A function's text is MLIR's: a visibility, a symbol, arguments with their attributes and locations,
results with the same, further attributes, and a body unless it is declared only::

    tt.func public @kernel(%x: !tt.ptr<f32> {tt.divisibility = 16 : i32}) attributes {...} {

A function without a visibility is public. A declaration has no body and so cannot be. A dialect
derives its op from ``FunctionOp`` and defines its name and its traits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self, cast

from typing_extensions import override
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    StringAttr,
    SymbolNameConstraint,
    SymbolRefAttr,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import opt_prop_def, prop_def, region_def
from xdsl.parser import Parser
from xdsl.traits import CallableOpInterface
from xdsl.utils.exceptions import VerifyException

from tilewright.ir.constraints import Satisfies
from tilewright.ir.interfaces import CallLike
from tilewright.ir.text.assembly import AsmOp
from tilewright.ir.text.parser import IRParser
from tilewright.ir.text.printer import IRPrinter

_IN_SIGNATURE = ("sym_name", "function_type", "sym_visibility", "arg_attrs", "res_attrs")


def _is_dictionary_array(attribute: object) -> bool:
    return isinstance(attribute, ArrayAttr) and all(
        isinstance(each, DictionaryAttr) for each in attribute.data
    )


DICTIONARIES_ATTR = Satisfies("Array of dictionary attributes", _is_dictionary_array, (ArrayAttr,))


def _signature_of(op: Operation) -> FunctionType | None:
    """The type of a function. An invalid one, reported elsewhere, may have none."""
    type = op.properties.get("function_type")
    return type if isinstance(type, FunctionType) else None


class FunctionBody(CallableOpInterface):
    """Where the body of a function is, and what it takes and returns."""

    @classmethod
    @override
    def get_callable_region(cls, op: Operation) -> Region:
        return cast("FunctionOp", op).body

    @classmethod
    @override
    def get_argument_types(cls, op: Operation) -> tuple[Attribute, ...]:
        type = _signature_of(op)
        return () if type is None else type.inputs.data

    @classmethod
    @override
    def get_result_types(cls, op: Operation) -> tuple[Attribute, ...]:
        type = _signature_of(op)
        return () if type is None else type.outputs.data


class FunctionOp(AsmOp):
    """Base of functions."""

    sym_name = prop_def(SymbolNameConstraint())
    function_type = prop_def(FunctionType)
    sym_visibility = opt_prop_def(StringAttr)
    arg_attrs = opt_prop_def(DICTIONARIES_ATTR)
    res_attrs = opt_prop_def(DICTIONARIES_ATTR)
    body = region_def()

    def __init__(
        self,
        name: str,
        function_type: FunctionType | tuple[Sequence[Attribute], Sequence[Attribute]],
        *,
        visibility: str | None = None,
        arg_attrs: Sequence[Mapping[str, Attribute]] | None = None,
        attributes: Mapping[str, Attribute] | None = None,
        body: Region | None = None,
    ) -> None:
        """A function; without a `body` it gets an empty entry block."""
        if not isinstance(function_type, FunctionType):
            function_type = FunctionType.from_lists(*function_type)
        if body is None:
            body = Region(Block(arg_types=function_type.inputs.data))
        properties: dict[str, Attribute] = {
            "sym_name": StringAttr(name),
            "function_type": function_type,
            **_dictionaries("arg_attrs", arg_attrs or ()),
        }
        if visibility is not None:
            properties["sym_visibility"] = StringAttr(visibility)
        super().__init__(properties=properties, attributes=attributes or {}, regions=[body])

    @classmethod
    def declare(
        cls, name: str, inputs: Sequence[Attribute], outputs: Sequence[Attribute] = ()
    ) -> Self:
        """A private function without a body."""
        return cls(name, (inputs, outputs), visibility="private", body=Region())

    @property
    def is_declaration(self) -> bool:
        return not self.body.blocks

    @property
    def is_public(self) -> bool:
        return self.sym_visibility is None or self.sym_visibility.data == "public"

    @property
    def args(self) -> Sequence[SSAValue]:
        """The arguments as the body sees them."""
        return self.body.blocks[0].args

    def argument_attributes(self, index: int) -> Mapping[str, Attribute]:
        """The attributes of one argument, ``tt.divisibility`` for example."""
        found = self.properties.get("arg_attrs")
        return {} if found is None else _dictionary_at(found, index)

    @override
    def verify_(self) -> None:
        if self.is_declaration and self.is_public:
            raise VerifyException("symbol declaration cannot have public visibility")
        _check_dictionaries("argument", self.properties.get("arg_attrs"), self.function_type.inputs)
        _check_dictionaries("result", self.properties.get("res_attrs"), self.function_type.outputs)

    # -- text --------------------------------------------------------------------------------

    @classmethod
    @override
    def parse(cls, parser: IRParser) -> Self:
        properties: dict[str, Attribute] = {}
        visibility = parser.parse_optional_visibility_keyword()
        if visibility is not None:
            properties["sym_visibility"] = visibility
        properties["sym_name"] = parser.parse_symbol_name()
        signature = _Signature()
        signature.parse(parser)
        properties["function_type"] = FunctionType.from_lists(signature.inputs, signature.outputs)
        properties.update(_dictionaries("arg_attrs", signature.input_attributes))
        properties.update(_dictionaries("res_attrs", signature.output_attributes))
        attributes = _parse_further_attributes(parser)
        body = Region()
        if parser.next_text == "{":
            start = parser.pos
            body = parser.parse_isolated_region(signature.arguments)
            if all(block.is_empty and not block.args for block in body.blocks):
                parser.raise_error("expected non-empty function body", start)
        return cls.create(properties=properties, attributes=attributes, regions=[body])

    @override
    def print(self, printer: IRPrinter) -> None:
        printer.print_string(" ")
        if self.sym_visibility is not None:
            printer.print_string(f"{self.sym_visibility.data} ")
        printer.print_symbol_name(self.sym_name.data)
        with printer.in_parens():
            self._print_arguments(printer)
        self._print_results(printer)
        printer.print_op_attributes(self.attributes, print_keyword=True)
        if not self.is_declaration:
            printer.print_string(" ")
            printer.print_region(self.body, print_entry_block_args=False)

    def _print_arguments(self, printer: IRPrinter) -> None:
        dictionaries = self.properties.get("arg_attrs")
        for index, type in enumerate(self.function_type.inputs.data):
            if index:
                printer.print_string(", ")
            if self.is_declaration:
                _print_type(printer, type, dictionaries, index)
                continue
            argument = self.body.blocks[0].args[index]
            printer.print_ssa_value(argument)
            printer.print_string(": ")
            _print_type(printer, type, dictionaries, index)
            printer.print_argument_location(argument.location)

    def _print_results(self, printer: IRPrinter) -> None:
        outputs = self.function_type.outputs.data
        dictionaries = self.properties.get("res_attrs")
        if not outputs:
            return
        printer.print_string(" -> ")
        bare = len(outputs) == 1 and dictionaries is None
        if bare and not isinstance(outputs[0], FunctionType):
            printer.print_attribute(outputs[0])
            return
        with printer.in_parens():
            for index, type in enumerate(outputs):
                if index:
                    printer.print_string(", ")
                _print_type(printer, type, dictionaries, index)


class _Signature:
    """Arguments and results of a function as they are read."""

    def __init__(self) -> None:
        self.arguments: list[Parser.Argument] = []
        self.inputs: list[Attribute] = []
        self.input_attributes: list[Mapping[str, Attribute]] = []
        self.outputs: list[Attribute] = []
        self.output_attributes: list[Mapping[str, Attribute]] = []

    def parse(self, parser: IRParser) -> None:
        delimiter = parser.Delimiter.PAREN
        parser.parse_comma_separated_list(delimiter, lambda: self._parse_input(parser))
        if parser.parse_optional_punctuation("->") is None:
            return
        if parser.next_text == "(":
            parser.parse_comma_separated_list(delimiter, lambda: self._parse_output(parser))
        else:
            # No dictionary here: a brace after a lone type opens the body.
            self.outputs.append(parser.parse_type())
            self.output_attributes.append({})

    def _parse_input(self, parser: IRParser) -> None:
        is_named = parser.at_value()
        if self.inputs and is_named != bool(self.arguments):
            parser.raise_error("expected SSA identifier" if self.arguments else "expected type")
        if is_named:
            argument = parser.parse_argument()
            self.arguments.append(argument)
            self.inputs.append(argument.type)
            self.input_attributes.append(parser.parse_optional_attr_dict())
            # A dictionary is between the type and the location.
            argument.location = parser.parse_optional_location() or argument.location
            return
        self.inputs.append(parser.parse_type())
        self.input_attributes.append(parser.parse_optional_attr_dict())
        parser.parse_optional_location()

    def _parse_output(self, parser: IRParser) -> None:
        self.outputs.append(parser.parse_type())
        self.output_attributes.append(parser.parse_optional_attr_dict())


def _parse_further_attributes(parser: IRParser) -> dict[str, Attribute]:
    found = parser.parse_optional_attr_dict_with_keyword(_IN_SIGNATURE)
    return {} if found is None else dict(found.data)


def _print_type(
    printer: IRPrinter, type: Attribute, dictionaries: Attribute | None, index: int
) -> None:
    printer.print_attribute(type)
    if dictionaries is not None:
        printer.print_op_attributes(dict(_dictionary_at(dictionaries, index)))


def _dictionary_at(dictionaries: Attribute, index: int) -> Mapping[str, Attribute]:
    return cast("ArrayAttr[DictionaryAttr]", dictionaries).data[index].data


def _dictionaries(
    name: str, found: Sequence[Mapping[str, Attribute]]
) -> dict[str, ArrayAttr[DictionaryAttr]]:
    """The property `name`, which is left out when there is nothing in it."""
    if not any(found):
        return {}
    return {name: ArrayAttr([DictionaryAttr(dict(each)) for each in found])}


def _check_dictionaries(
    what: str, dictionaries: Attribute | None, types: ArrayAttr[Attribute]
) -> None:
    if dictionaries is None:
        return
    found = cast("ArrayAttr[DictionaryAttr]", dictionaries).data
    if len(found) != len(types):
        raise VerifyException(
            f"expects {what} attribute array to have the same number of elements as the number "
            f"of function {what}s, got {len(found)}, but expected {len(types)}"
        )
    if any("." not in name for each in found for name in each.data):
        raise VerifyException(f"{what}s may only have dialect attributes")


class FunctionCall(CallLike):
    """A call whose callee is a symbol in the property ``callee``."""

    @classmethod
    @override
    def callee(cls, op: Operation) -> SymbolRefAttr | None:
        found = op.properties.get("callee")
        return found if isinstance(found, SymbolRefAttr) else None
