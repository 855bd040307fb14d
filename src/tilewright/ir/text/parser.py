"""The parser: xDSL's, with the edges real Triton text falls off repaired.

What differs from ``xdsl.parser.Parser``, here and in the three classes below it:

* aliases may be used before they are defined; MLIR prints most ``#locN`` after the module;
* locations: ranges, ``fused<meta>``, and locations on every kind of block argument;
* an op without a location gets its position in the file, so diagnostics have a line;
* an isolated region opens a fresh name scope;
* hex literals are bits also inside ``dense<>``, and splats stay splats;
* ``{-# ... #-}`` resources of any kind are read and stored as text;
* nesting has a limit and every fault ends in a positioned ``ParseError``;
* types and attributes in angle brackets are parsed once per file and spelling.

``base_parser`` holds positions and messages, ``location_parser`` locations, ``literal_parser``
numbers; this file operations, values, aliases and what dialects call.
"""

# pyright: reportPrivateUsage=false, reportIncompatibleMethodOverride=false
# Overriding private methods of a pinned xDSL is this package's purpose.

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any, NoReturn, TypeVar, cast

from xdsl.context import Context
from xdsl.dialects.builtin import (
    FileLineColLoc,
    IntAttr,
    ModuleOp,
    UnknownLoc,
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
from xdsl.traits import IsolatedFromAbove
from xdsl.utils.exceptions import MultipleSpansParseError, ParseError, VerifyException
from xdsl.utils.lexer import Span
from xdsl.utils.mlir_lexer import MLIRTokenKind

from tilewright.ir.hints import name_hint_of
from tilewright.ir.text.literal_parser import LiteralParser
from tilewright.ir.text.resources import Resources, skip_resources

_T = TypeVar("_T")

_ALIAS_DEFINITION = re.compile(r"^([#!][A-Za-z_][\w$.-]*)[ \t]*=", re.MULTILINE)


# `<...>` with up to three levels of angle brackets inside, no strings and no arrows: what types
# and layouts look like. Anything else is simply not memoised.
def _nested_angles(levels: int) -> str:
    plain = r'[^<>"-]++|-(?!>)'
    if levels == 0:
        return f"(?:{plain})*+"
    return f"(?:{plain}|<{_nested_angles(levels - 1)}>)*+"


_ANGLE_BODY = re.compile(rf"<{_nested_angles(3)}>")


class IRParser(LiteralParser):
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
        self.keep_names = keep_names
        self.resources = Resources()
        self._alias_positions: dict[str, int] | None = None
        self._aliases_in_progress: set[str] = set()
        self._memo: dict[tuple[str, str], Attribute] = {}
        self._name_offsets: list[int] = []
        self._forward_spans: dict[tuple[str, int], Span] = {}
        self._first_spans: dict[str, Span] = {}
        super().__init__(context, text, name, line_offset)

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
        keyword = self._current_token.text
        if keyword not in table:
            self.raise_error(f"expected one of: {', '.join(table)}; found '{keyword}'")
        self._consume_token()
        return table[keyword]

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
            self._explicit_unknown = False
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

    # -- operations and regions --------------------------------------------------------------

    def parse_operation(self) -> Operation:
        operation = super().parse_operation()
        start = self._name_offsets.pop()
        if operation.location.__class__ is UnknownLoc and not self._explicit_unknown:
            operation.location = self.location_at(start)
        self._explicit_unknown = False
        return operation

    def _parse_op_result_list(self) -> list[tuple[Span, int]]:
        results = super()._parse_op_result_list()
        # An op stands where its name does, not where its results are listed.
        self._name_offsets.append(self.pos)
        self.num_named_results = sum(count for _, count in results)
        return results

    num_named_results = 0
    """How many results the text names of the op that is being read, before its regions."""

    def _get_op_by_name(self, name: str) -> type[Operation]:
        found = self.ctx.get_optional_op(name, dialect_stack=self._parser_state.dialect_stack)
        if found is None:
            self._raise_at_previous(name, f"unknown operation '{name}'{self._op_hint(name)}")
        return found

    def _op_hint(self, name: str) -> str:
        """A suggestion for an unknown op name."""
        dialect_name, dot, _ = name.partition(".")
        if not dot:
            return ""
        dialect = self.ctx.get_optional_dialect(dialect_name)
        if dialect is None:
            return f": there is no dialect '{dialect_name}'"
        close = get_close_matches(name, [op.name for op in dialect.operations], 1, 0.8)
        return f"; did you mean '{close[0]}'?" if close else ""

    def parse_optional_region(
        self, arguments: Iterable[Parser.Argument] | None = None
    ) -> Region | None:
        if self._current_token.kind is not MLIRTokenKind.L_BRACE:
            return None
        try:
            with self._nested():
                return super().parse_optional_region(arguments)
        except MultipleSpansParseError as error:
            if not error.msg.startswith("region ends with missing block"):
                raise
            reference = error.refs[0][0]
            raise ParseError(reference, "reference to an undefined block") from None

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

    # -- values ------------------------------------------------------------------------------

    def resolve_operand(self, operand: UnresolvedOperand, type: Any) -> Any:
        name = operand.operand_name
        values = self.ssa_values.get(name)
        if values is None:
            references = self.forward_ssa_references.setdefault(name, {})
            if operand.index not in references:
                self._forward_spans[name, operand.index] = operand.span
                self._first_spans[name] = operand.span
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
            message = (
                f"use of value '%{name}' expects different type than prior uses: "
                f"'{type}' vs '{resolved.type}'"
            )
            self._raise_with_note(message, operand.span, name, "prior use here")
        return resolved

    def _raise_with_note(self, message: str, span: Span, name: str, note: str) -> NoReturn:
        """An error about value `name` that also shows its first use."""
        first = self._first_spans.get(name)
        references = [(first, note)] if first is not None else []
        raise MultipleSpansParseError(span, message, None, list(references))

    def _register_ssa_definition(self, name: str, values: Sequence[SSAValue], span: Span) -> None:
        if name in self.ssa_values:
            message = f"redefinition of SSA value '%{name}'"
            self._raise_with_note(message, span, name, "previously defined here")
        self._first_spans[name] = span
        super()._register_ssa_definition(name, values, span)
        for value in values:
            if not self.keep_names or name_hint_of(value.name_hint) is None:
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

        start = max(self._text.rfind(name, 0, self.pos) - 1, 0)
        known = self.ctx.get_optional_type(name) if is_type else self.ctx.get_optional_attr(name)
        if known is None:
            what = "type" if is_type else "attribute"
            self._raise_at_previous(name, f"unknown {what} '{'!' if is_type else '#'}{name}'")

        def build() -> Attribute:
            with self._nested():
                return super(IRParser, self)._parse_extended_type_or_attribute(name, is_type)

        try:
            return self._memoised(name, build)
        except VerifyException as error:
            # Upstream's message, at the attribute that violates the rule.
            raise ParseError(Span(start, self.pos, self.lexer.input), str(error)) from None

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
            self._raise_at_previous(alias, f"undefined symbol alias '{alias}'")
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

    # -- file metadata -----------------------------------------------------------------------

    def _parse_file_metadata_dictionary(self) -> None:
        start = self._current_token.span
        end = skip_resources(self._text, start.start)
        if end is None:
            self.raise_error("expected '#-}' at the end of the file metadata", start)
        self.resources.add(self._text[start.start : end])
        self._resume_from(end)
