"""The parser: xDSL's, with the edges real Triton text falls off repaired.

What differs from ``xdsl.parser.Parser`` (the numbers are rows of the regression tests):

* aliases may be used before they are defined; MLIR prints most ``#locN`` after the module;
* locations: ranges, ``fused<meta>``, and locations on every kind of block argument;
* an op without a location gets its position in the file, so diagnostics have a line;
* an isolated region opens a fresh name scope;
* hex literals are bits also inside ``dense<>``, and splats stay splats;
* ``{-# ... #-}`` resources of any kind are read and kept as text;
* nesting has a limit and every fault ends in a positioned ``ParseError``;
* types and attributes in angle brackets are parsed once per file and spelling.

This and ``printer`` are the only modules that touch xDSL's private methods.
"""

# pyright: reportPrivateUsage=false, reportIncompatibleMethodOverride=false
# Overriding private methods of a pinned xDSL is this module's purpose.

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from contextlib import contextmanager
from itertools import groupby
from typing import Any, NoReturn, TypeVar, cast

from xdsl.context import Context
from xdsl.dialects.builtin import (
    AnyDenseElement,
    AnyFloat,
    ArrayAttr,
    CallSiteLoc,
    DenseIntOrFPElementsAttr,
    FileLineColLoc,
    FloatAttr,
    FusedLoc,
    IndexType,
    IntAttr,
    IntegerAttr,
    IntegerType,
    LocationAttr,
    ModuleOp,
    NameLoc,
    NoneAttr,
    RankedStructure,
    StringAttr,
    TensorType,
    UnknownLoc,
    VectorType,
    f64,
    i64,
)
from xdsl.ir import (
    Attribute,
    Block,
    Operation,
    ParametrizedAttribute,
    Region,
    SSAValue,
    TypeAttribute,
)
from xdsl.irdl import IRDLOperation
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.parser.generic_parser import ParserState
from xdsl.traits import IsolatedFromAbove
from xdsl.utils.lexer import Input, Span
from xdsl.utils.mlir_lexer import MLIRTokenKind, StringLiteral

from tilewright.ir.text.floats import float_from_bits
from tilewright.ir.text.lexer import SourceLexer
from tilewright.ir.text.literals import SplatElementsAttr, scalar_attribute
from tilewright.ir.text.locations import FileLineColRangeLoc, is_location
from tilewright.ir.text.resources import Resources, skip_resources

_T = TypeVar("_T")

MAX_NESTING = 200
"""Regions or attributes inside each other. Real kernels stay below 20."""

_ALIAS_DEFINITION = re.compile(r"^([#!][A-Za-z_][\w$.-]*)[ \t]*=", re.MULTILINE)


# `<...>` with up to three levels of angle brackets inside, no strings and no arrows: what types
# and layouts look like. Anything else is simply not memoised.
def _nested_angles(levels: int) -> str:
    if levels == 0:
        return r'[^<>"]*+'
    return rf'(?:[^<>"]++|<{_nested_angles(levels - 1)}>)*+'


_ANGLE_BODY = re.compile(rf"<{_nested_angles(3)}>")


class IRParser(Parser):
    """Parses one source text into one module."""

    def __init__(
        self,
        context: Context,
        text: str,
        name: str = "<unknown>",
        *,
        line_offset: int = 0,
        keep_names: bool = True,
    ) -> None:
        self.line_offset = line_offset
        self.keep_names = keep_names
        self.resources = Resources()
        self._text = text
        self._file_name = StringAttr(name)
        self._line_starts: list[int] | None = None
        self._alias_positions: dict[str, int] | None = None
        self._aliases_in_progress: set[str] = set()
        self._memo: dict[tuple[str, str], Attribute] = {}
        self._nesting = 0
        self._name_offsets: list[int] = []
        self._forward_spans: dict[tuple[str, int], Span] = {}
        super().__init__(context, "", name)
        self._parser_state = cast(
            "ParserState[Any, Any]", ParserState(SourceLexer(Input(text, name)))
        )

    # -- entry points ------------------------------------------------------------------------

    def parse_module(self, allow_implicit_module: bool = True) -> ModuleOp:
        """Parse the whole input; anything that is not a single module op is wrapped in one."""
        operations: list[Operation] = []
        while (kind := self._current_token.kind) is not MLIRTokenKind.EOF:
            if kind in (MLIRTokenKind.HASH_IDENT, MLIRTokenKind.EXCLAMATION_IDENT):
                self._parse_alias_def()
            elif kind is MLIRTokenKind.FILE_METADATA_BEGIN:
                self._parse_file_metadata_dictionary()
            elif (operation := self.parse_optional_operation()) is not None:
                operations.append(operation)
            else:
                self.raise_error("expected an operation, an alias or the end of the file")
        self._check_all_values_defined(self.forward_ssa_references.keys())
        if len(operations) == 1 and isinstance(operations[0], ModuleOp):
            return operations[0]
        module = ModuleOp(operations)
        module.location = FileLineColLoc(self._file_name, IntAttr(0), IntAttr(0))
        return module

    # -- helpers for dialects ----------------------------------------------------------------

    @property
    def next_text(self) -> str:
        """The spelling of the next token, not consumed."""
        return self._current_token.text

    def at_value(self) -> bool:
        """Whether a ``%name`` comes next."""
        return self._current_token.kind is MLIRTokenKind.PERCENT_IDENT

    def at_type(self) -> bool:
        """Whether a type with ``!`` comes next."""
        return self._current_token.kind is MLIRTokenKind.EXCLAMATION_IDENT

    def parse_bare(self, attribute_class: type[Any]) -> Attribute:
        """``<...>``: the parameters of a type or attribute whose class is known."""
        head = f"{attribute_class.name}"

        def build() -> Attribute:
            with self._nested():
                if issubclass(attribute_class, ParametrizedAttribute):
                    return attribute_class.new(attribute_class.parse_parameters(self))
                return attribute_class(attribute_class.parse_parameter(self))

        return self._memoised(head, build)

    def parse_keyword_from(self, table: dict[str, _T]) -> _T:
        """One of the keywords of `table`, translated."""
        word = self._current_token.text
        if word not in table:
            self.raise_error(f"expected one of: {', '.join(table)}; found '{word}'")
        self._consume_token()
        return table[word]

    def parse_argument_list(self) -> list[Parser.Argument]:
        """``(%a: i32 loc(...), %b: f32)``: block arguments with types and locations."""
        return self.parse_comma_separated_list(self.Delimiter.PAREN, self.parse_argument)

    def parse_optional_argument(self, expect_type: bool = True) -> Any:
        """A block argument; unlike xDSL's, with the location MLIR prints after the type.

        As for ops, a location that is not given is the position in the file.
        """
        argument = super().parse_optional_argument(expect_type)
        if isinstance(argument, Parser.Argument):
            given = self.parse_optional_location()
            self._said_unknown = False
            argument.location = given or self.location_at(argument.name.start)
        return argument

    def _parse_optional_block_arg_list(self, block: Block) -> Block | None:
        if self._current_token.kind is not MLIRTokenKind.L_PAREN:
            return None
        for argument in self.parse_argument_list():
            value = block.insert_arg(argument.type, len(block.args), argument.location)
            self._register_ssa_definition(argument.name.text[1:], (value,), argument.name)
        return block

    def resolve_argument(
        self, argument: Parser.UnresolvedArgument, type: Attribute
    ) -> Parser.Argument:
        """A block argument written without its type, now that the type is known."""
        return Parser.Argument(argument.name, type, self.location_at(argument.name.start))

    def parse_isolated_region(self, arguments: Iterable[Parser.Argument] | None = None) -> Region:
        """A region that sees no value from outside; names may be reused inside."""
        with self.isolated_scope():
            return self.parse_region(arguments)

    @contextmanager
    def isolated_scope(self):
        """Hide all value names for the duration; everything used inside is defined inside."""
        outer_values, outer_forward = self.ssa_values, self.forward_ssa_references
        self.ssa_values, self.forward_ssa_references = {}, {}
        yield
        self._check_all_values_defined(self.forward_ssa_references.keys())
        self.ssa_values, self.forward_ssa_references = outer_values, outer_forward

    def position(self, offset: int) -> tuple[int, int]:
        """One-based line and column of `offset`, in lines of the original file."""
        if self._line_starts is None:
            self._line_starts = [0, *(m.end() for m in re.finditer("\n", self._text))]
        line = bisect_right(self._line_starts, offset)
        return line + self.line_offset, offset - self._line_starts[line - 1] + 1

    # -- errors ------------------------------------------------------------------------------

    def raise_error(
        self, msg: str, at_position: Any = None, end_position: int | None = None
    ) -> NoReturn:
        """Every fault of the text ends here; xDSL's messages are brought into one style."""
        polished = _polished(msg)
        if end_position is not None:
            super().raise_error(polished, at_position, end_position)
        super().raise_error(polished, at_position)

    # -- operations and regions --------------------------------------------------------------

    def parse_operation(self) -> Operation:
        operation = super().parse_operation()
        start = self._name_offsets.pop()
        if operation.location.__class__ is UnknownLoc and not self._said_unknown:
            operation.location = self.location_at(start)
        self._said_unknown = False
        return operation

    _said_unknown = False

    def _parse_op_result_list(self) -> list[tuple[Span, int]]:
        results = super()._parse_op_result_list()
        # An op stands where its name does, not where its results are listed.
        self._name_offsets.append(self.pos)
        self.num_named_results = sum(count for _, count in results)
        return results

    num_named_results = 0
    """How many results the text names of the op that is being read, before its regions."""

    def location_at(self, offset: int) -> FileLineColLoc:
        """The position of `offset` in the file, as a location."""
        line, column = self.position(offset)
        return FileLineColLoc(self._file_name, IntAttr(line), IntAttr(column))

    def _get_op_by_name(self, name: str) -> type[Operation]:
        found = self.ctx.get_optional_op(name, dialect_stack=self._parser_state.dialect_stack)
        if found is None:
            start = self._text.rfind(name, 0, self.pos)
            self.raise_error(f"unknown operation '{name}'", start, start + len(name))
        return found

    def parse_optional_region(
        self, arguments: Iterable[Parser.Argument] | None = None
    ) -> Region | None:
        if self._current_token.kind is not MLIRTokenKind.L_BRACE:
            return None
        with self._nested():
            return super().parse_optional_region(arguments)

    def parse_region_list(self) -> list[Region]:
        if self._isolated_generic:
            self._isolated_generic = False
            with self.isolated_scope():
                return super().parse_region_list()
        return super().parse_region_list()

    _isolated_generic = False

    def _parse_generic_operation(self, op_type: type[Operation]) -> Operation:
        self._isolated_generic = issubclass(op_type, IRDLOperation) and op_type.has_trait(
            IsolatedFromAbove
        )
        operation = super()._parse_generic_operation(op_type)
        if issubclass(op_type, IRDLOperation):
            for name, definition in op_type.get_irdl_definition().properties.items():
                default = definition.default_value
                if default is not None and name not in operation.properties:
                    operation.properties[name] = default
        return operation

    @contextmanager
    def _nested(self):
        self._nesting += 1
        if self._nesting > MAX_NESTING:
            self.raise_error(f"nested deeper than {MAX_NESTING} levels")
        yield
        self._nesting -= 1

    # -- values ------------------------------------------------------------------------------

    def resolve_operand(self, operand: UnresolvedOperand, type: Any) -> Any:
        name = operand.operand_name
        values = self.ssa_values.get(name)
        if values is None:
            references = self.forward_ssa_references.setdefault(name, {})
            if operand.index not in references:
                self._forward_spans[name, operand.index] = operand.span
                if not references:
                    del self.forward_ssa_references[name]
                return super().resolve_operand(operand, type)
            resolved: SSAValue = references[operand.index]
        elif operand.index >= len(values):
            self.raise_error(
                f"'%{name}#{operand.index}' does not exist: '%{name}' has {len(values)} results",
                operand.span,
            )
        else:
            resolved = values[operand.index]
        if resolved.type is not type and resolved.type != type:
            self.raise_error(
                f"use of value '%{name}' expects different type than prior uses: "
                f"'{type}' vs '{resolved.type}'",
                operand.span,
            )
        return resolved

    def _register_ssa_definition(self, name: str, values: Sequence[SSAValue], span: Span) -> None:
        if name in self.ssa_values:
            self.raise_error(f"redefinition of SSA value '%{name}'", span)
        super()._register_ssa_definition(name, values, span)
        for value in values:
            # xDSL strips `_<digits>` from a hint; of `%_0` it keeps "", which it later refuses.
            if not self.keep_names or not value.name_hint:
                value.name_hint = None

    def _check_all_values_defined(self, names: Iterable[str]) -> None:
        for name in names:
            for index in self.forward_ssa_references[name]:
                span = self._forward_spans.get((name, index))
                self.raise_error(f"use of undeclared SSA value name '%{name}'", span)

    # -- aliases and memoised attributes -----------------------------------------------------

    def _parse_extended_type_or_attribute(self, attr_or_dialect_name: str, is_type: bool) -> Any:
        name = attr_or_dialect_name
        if "." not in name:
            alias = ("!" if is_type else "#") + name
            if alias not in self.attribute_aliases and self.next_text != "<":
                self._resolve_forward_alias(alias)
            with self._nested():
                return super()._parse_extended_type_or_attribute(name, is_type)

        def build() -> Attribute:
            with self._nested():
                return super(IRParser, self)._parse_extended_type_or_attribute(name, is_type)

        return self._memoised(name, build)

    def _parse_optional_builtin_parametrized_type(self) -> TypeAttribute | None:
        token = self._current_token
        if token.kind is not MLIRTokenKind.BARE_IDENT or token.text != "tensor":
            return super()._parse_optional_builtin_parametrized_type()
        match = _ANGLE_BODY.match(self._text, token.span.end)
        known = None if match is None else self._memo.get(("tensor", match[0]))
        if match is not None and known is not None:
            self._resume_from(match.end())
            return cast(TypeAttribute, known)
        with self._nested():
            built = super()._parse_optional_builtin_parametrized_type()
        if match is not None and built is not None:
            self._memo["tensor", match[0]] = built
        return built

    def _memoised(self, head: str, build: Callable[[], Attribute]) -> Attribute:
        """`build()`, or what it returned for the same spelling earlier in this file."""
        token = self._current_token
        if token.kind is not MLIRTokenKind.LESS:
            return build()
        match = _ANGLE_BODY.match(self._text, token.span.start)
        if match is None:
            return build()
        known = self._memo.get((head, match[0]))
        if known is not None:
            self._resume_from(match.end())
            return known
        built = self._memo[head, match[0]] = build()
        return built

    def _resolve_forward_alias(self, alias: str) -> None:
        """Parse the definition of `alias` further down, and come back."""
        if self._alias_positions is None:
            found = _ALIAS_DEFINITION.finditer(self._text)
            self._alias_positions = {match[1]: match.start() for match in found}
        target = self._alias_positions.get(alias)
        if target is None:
            self.raise_error(f"undefined symbol alias '{alias}'")
        if alias in self._aliases_in_progress:
            self.raise_error(f"alias '{alias}' is defined in terms of itself")
        self._aliases_in_progress.add(alias)
        here = self._current_token.span.start
        self._resume_from(target)
        self._parse_alias_def()
        self._resume_from(here)
        self._aliases_in_progress.discard(alias)

    def _parse_alias_def(self) -> None:
        start = self._current_token
        alias = start.text
        if alias in self.attribute_aliases and start.span.start not in self._defined_at:
            self.raise_error(f"redefinition of alias '{alias}'")
        self._consume_token()
        if "." in alias:
            self.raise_error("alias names may not contain a '.'", start.span)
        self.parse_punctuation("=", " after alias name")
        with self._nested():
            value = self.parse_attribute() if alias[0] == "#" else self.parse_type()
        self._defined_at.add(start.span.start)
        self.attribute_aliases[alias] = value

    @property
    def _defined_at(self) -> set[int]:
        """Offsets of alias definitions already read; a forward one is passed over later."""
        return self.__dict__.setdefault("_alias_offsets", set())

    # -- locations ---------------------------------------------------------------------------

    def parse_optional_location(self) -> LocationAttr | None:
        if self._current_token.text != "loc":
            return None
        self._consume_token()
        self.parse_punctuation("(", " in location")
        with self._nested():
            location = self._parse_location()
        self.parse_punctuation(")", " in location")
        self._said_unknown = location.__class__ is UnknownLoc
        return location

    def _parse_location(self) -> LocationAttr:
        token = self._current_token
        if token.kind is MLIRTokenKind.HASH_IDENT:
            attribute = self.parse_attribute()
            if not is_location(attribute):
                self.raise_error(f"expected location, but found '{attribute}'", token.span)
            return cast(LocationAttr, attribute)
        if token.kind in (MLIRTokenKind.STRING_LIT, MLIRTokenKind.BYTES_LIT):
            return self._parse_named_or_file_location()
        parse = {
            "unknown": UnknownLoc,
            "callsite": self._parse_callsite_location,
            "fused": self._parse_fused_location,
        }.get(token.text)
        if parse is None:
            self.raise_error('expected location: unknown, "file":line:column, callsite or fused')
        self._consume_token()
        with self._nested():
            return parse()

    def _parse_named_or_file_location(self) -> LocationAttr:
        text = self.parse_str_literal()
        if self.parse_optional_punctuation(":") is not None:
            return self._parse_file_location(StringAttr(text))
        if self.parse_optional_punctuation("(") is None:
            return NameLoc(StringAttr(text), NoneAttr())
        with self._nested():
            inner = self._parse_location()
        self.parse_punctuation(")", " in named location")
        return NameLoc(StringAttr(text), inner)

    def _parse_file_location(self, name: StringAttr) -> LocationAttr:
        line = self.parse_integer(False, False)
        column = self.parse_integer(False, False) if self.parse_optional_punctuation(":") else 0
        if self.parse_optional_keyword("to") is None:
            return FileLineColLoc(name, IntAttr(line), IntAttr(column))
        end_line = line
        if self.parse_optional_punctuation(":") is None:
            end_line = self.parse_integer(False, False)
            self.parse_punctuation(":", " in location range")
        end_column = self.parse_integer(False, False)
        parts = (IntAttr(n) for n in (line, column, end_line, end_column))
        return cast(LocationAttr, FileLineColRangeLoc(name, *parts))

    def _parse_callsite_location(self) -> LocationAttr:
        self.parse_punctuation("(", " in callsite location")
        callee = self._parse_location()
        self.parse_keyword("at", " in callsite location")
        caller = self._parse_location()
        self.parse_punctuation(")", " in callsite location")
        return CallSiteLoc(callee, caller)

    def _parse_fused_location(self) -> LocationAttr:
        metadata: Attribute = NoneAttr()
        if self.parse_optional_punctuation("<") is not None:
            metadata = self.parse_attribute()
            self.parse_punctuation(">", " after fused location metadata")
        inner = self.parse_comma_separated_list(self.Delimiter.SQUARE, self._parse_location)
        return FusedLoc(ArrayAttr(cast("list[Attribute]", inner)), metadata)

    def _parse_optional_builtin_attr(self) -> Attribute | None:
        if self._current_token.text == "loc":
            return self.parse_optional_location()
        with self._nested():
            return super()._parse_optional_builtin_attr()

    # -- strings -----------------------------------------------------------------------------

    def parse_optional_str_literal(self) -> str | None:
        """A string; MLIR's hold bytes, so what is no UTF-8 survives as surrogate characters."""
        token = self._current_token
        if token.kind is not MLIRTokenKind.BYTES_LIT:
            return super().parse_optional_str_literal()
        self._consume_token()
        contents = StringLiteral.from_span(token.span).bytes_contents
        return contents.decode("utf-8", "surrogateescape")

    # -- numbers -----------------------------------------------------------------------------

    def parse_optional_builtin_int_or_float_attr(self) -> Any:
        if (boolean := self.try_parse_builtin_boolean_attr()) is not None:
            return boolean
        start = self._current_token
        is_hex = start.text[:2] == "0x"
        value = self.parse_optional_number()
        if value is None:
            return None
        if self.parse_optional_punctuation(":") is None:
            return FloatAttr(value, f64) if isinstance(value, float) else IntegerAttr(value, i64)
        type = self.parse_type()
        if isinstance(type, AnyFloat) and is_hex:
            return FloatAttr(self._bits_to_float(int(value), type, start.span), type)
        if isinstance(type, AnyFloat):
            return FloatAttr(float(value), type)
        if not isinstance(type, (IntegerType, IndexType)):
            self.raise_error(f"a number cannot have type '{type}'", start.span)
        if isinstance(value, float):
            self.raise_error("floating point value not valid for specified type", start.span)
        return self._integer_attribute(value, type, start.span)

    def _integer_attribute(
        self, value: int, type: IntegerType | IndexType, span: Span
    ) -> IntegerAttr:
        if isinstance(type, IntegerType):
            bits = type.width.data
            if not -(1 << max(bits - 1, 0)) <= value < (1 << bits):
                self.raise_error("integer constant out of range for attribute", span)
        return IntegerAttr(value, type)

    def _bits_to_float(self, bits: int, type: AnyFloat, span: Span) -> float:
        try:
            return float_from_bits(bits, type)
        except ValueError as error:
            self.raise_error(str(error), span)

    def parse_dense_int_or_fp_elements_attr(
        self, type: RankedStructure[AnyDenseElement] | None
    ) -> Any:
        """``dense<...>``, with hex literals read as bits and uniform values kept as a splat."""
        start = self._current_token.span
        self.parse_punctuation("<", " in dense attribute")
        literal: str | tuple[list[Any], list[int]]
        if self.parse_optional_punctuation(">") is not None:
            literal = ([], [0])
        else:
            text = self.parse_optional_str_literal()
            literal = text if text is not None else self._parse_tensor_literal()
            self.parse_punctuation(">", " in dense attribute")
        if type is None:
            self.parse_punctuation(":", " in dense attribute")
            type = self._parse_dense_literal_type()
        if not isinstance(type, (TensorType, VectorType)):
            self.raise_error("expected a tensor or vector type for a dense attribute", start)
        if isinstance(literal, str):
            return self._dense_from_hex(literal, type, start)
        return self._dense_from_elements(*literal, type, start)

    def _dense_from_hex(self, text: str, type: Any, span: Span) -> Attribute:
        try:
            raw = bytes.fromhex(text.removeprefix("0x"))
        except ValueError:
            self.raise_error("expected a string of hexadecimal digits in a dense attribute", span)
        size = type.element_type.compile_time_size
        count = _element_count(type)
        if len(raw) == size:
            return self._splat(type.element_type.unpack(raw, 1)[0], type)
        if len(raw) != size * count:
            self.raise_error(
                f"dense attribute holds {len(raw)} bytes, but its type needs {size * count}", span
            )
        return self._dense(type.element_type.unpack(raw, count), type)

    def _dense_from_elements(
        self, elements: list[Any], shape: list[int], type: Any, span: Span
    ) -> Attribute:
        values = [self._dense_element(element, type.element_type) for element in elements]
        if not shape:
            return self._splat(values[0], type)
        if list(type.get_shape()) != shape and _element_count(type) + len(values) > 0:
            self.raise_error(
                f"inferred shape of elements literal ({_shape(shape)}) does not match type "
                f"({_shape(type.get_shape())})",
                span,
            )
        return self._dense(values, type)

    def _dense_element(self, element: Any, type: Any) -> Any:
        is_hex = element.span.text.lstrip("-")[:2] == "0x"
        if is_hex and isinstance(type, AnyFloat):
            return self._bits_to_float(int(element.value), type, element.span)
        value = element.to_type(self, type)
        if isinstance(type, IntegerType):
            return self._integer_attribute(value, type, element.span).value.data
        return value

    def _dense(self, values: Sequence[Any], type: Any) -> Attribute:
        if values and sum(1 for _ in groupby(map(repr, values))) == 1:
            return self._splat(values[0], type)
        return DenseIntOrFPElementsAttr.from_list(type, list(values))

    def _splat(self, value: Any, type: Any) -> Attribute:
        if isinstance(value, tuple):  # complex numbers: not worth a splat of their own
            values = [cast("Any", value)] * _element_count(type)
            return DenseIntOrFPElementsAttr.from_list(type, values)
        return SplatElementsAttr(scalar_attribute(value, type.element_type), type)

    # -- file metadata -----------------------------------------------------------------------

    def _parse_file_metadata_dictionary(self) -> None:
        start = self._current_token.span
        end = skip_resources(self._text, start.start)
        if end is None:
            self.raise_error("expected '#-}' at the end of the file metadata", start)
        self.resources.add(self._text[start.start : end])
        self._resume_from(end)


_REWORDED = {
    " in block definition": "expected an operation, a block label or '}'",
    "Expected bare-id or string-literal here as part of attribute entry!": (
        "expected the name of an attribute"
    ),
    "operation name expected": "expected the name of an operation",
    "Expected block argument!": "expected a block argument, as %name: type",
}


def _polished(message: str) -> str:
    """`message` as a phrase that says first what was expected."""
    if message in _REWORDED:
        return _REWORDED[message]
    message = message.rstrip("!.")
    head, separator, tail = message.partition(" expected")
    if separator and (not tail or tail.startswith((" in ", " after "))):
        message = f"expected {head}{tail}"
    if message.startswith("Expected "):
        message = "e" + message[1:]
    return message


def _element_count(type: Any) -> int:
    count = 1
    for extent in type.get_shape():
        count *= extent
    return count


def _shape(extents: Iterable[int]) -> str:
    return "[" + ", ".join(map(str, extents)) + "]"
