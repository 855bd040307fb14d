"""A compiled format: builds an op from its text and writes the text of an op.

Types the text does not show come from three places: the definition (an operand that can only be
``i32``), the op's type rules, and ``functional-type``. What remains unknown is an error at the op.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import DenseArrayBase, i32
from xdsl.ir import Attribute, Operation, Region
from xdsl.irdl import AttrSizedOperandSegments, AttrSizedResultSegments

from tilewright.ir.constraints import Satisfies
from tilewright.ir.text.assembly import AsmOp, TypeRule, Types
from tilewright.ir.text.compiler import FormatCompiler, element_constraint
from tilewright.ir.text.elements import ParseState, Slot

if TYPE_CHECKING:
    from tilewright.ir.text.parser import IRParser
    from tilewright.ir.text.printer import IRPrinter


class Format:
    """A compiled format of one op class."""

    def __init__(self, op: type[AsmOp]) -> None:
        compiler = FormatCompiler(op)
        self.op = op
        self.elements = compiler.compile()
        self.operands = list(compiler.operands.values())
        self.results = list(compiler.results.values())
        self.regions = list(compiler.regions.values())
        self.successors = list(compiler.successors.values())
        self.defaults = {n: d for n, d in compiler.properties.items() if d is not None}
        self.rules: Mapping[str, TypeRule] = op.TYPES
        options = op.get_irdl_definition().options
        self.sizes_operands = any(isinstance(o, AttrSizedOperandSegments) for o in options)
        self.sizes_results = any(isinstance(o, AttrSizedResultSegments) for o in options)

    def print(self, printer: IRPrinter, op: Operation) -> None:
        for element in self.elements:
            element.print(printer, op)

    def parse(self, parser: IRParser) -> Operation:
        start = parser.pos
        state = ParseState()
        for element in self.elements:
            element.parse(parser, state)
        self._infer_types(parser, state, start)
        return self._build(parser, state, start)

    def _infer_types(self, parser: IRParser, state: ParseState, start: int) -> None:
        types = state.types
        if state.flat_operand_types is not None:
            self._distribute(self.operands, state.flat_operand_types, state, parser, start)
        for slot in self.operands:
            if slot.name not in types and slot.constant_type is not None:
                count = len(state.operands.get(slot.name, ()))
                types[slot.name] = (slot.constant_type,) * count
        for slot in self.results:
            single = not slot.is_optional_or_variadic
            if slot.name not in types and slot.constant_type is not None and single:
                types[slot.name] = (slot.constant_type,)
        if state.flat_result_types is not None:
            return
        view = Types(types)
        for name, rule in self.rules.items():
            if name not in types:
                types[name] = self._by_rule(rule, view, name, state, parser, start)

    def _by_rule(
        self,
        rule: TypeRule,
        view: Types,
        name: str,
        state: ParseState,
        parser: IRParser,
        start: int,
    ) -> Sequence[Attribute]:
        operands = state.operands.get(name)
        if not operands and any(slot.name == name for slot in self.operands):
            return ()  # an optional operand that the text does not have
        try:
            inferred = rule.infer(view)
        except (AttributeError, TypeError, ValueError, KeyError, IndexError):
            unfit = self._unfit_type(state)
            parser.raise_error(
                f"custom op '{self.op.name}' {unfit}"
                if unfit is not None
                else f"'{self.op.name}' cannot have these types: {rule.description} must hold",
                start,
            )
        return (inferred,) * (1 if operands is None else len(operands))

    def _unfit_type(self, state: ParseState) -> str | None:
        """What is wrong with a type in the text, as the definition describes it."""
        definition = self.op.get_irdl_definition()
        for name, slot in (*definition.operands, *definition.results):
            constraint = element_constraint(slot)
            for type in state.types.get(name, ()):
                if isinstance(constraint, Satisfies) and not constraint.predicate(type):
                    return f"'{name}' must be {constraint.description}, but got '{type}'"
        return None

    def _distribute(
        self,
        slots: Sequence[Slot],
        flat: Sequence[Attribute],
        state: ParseState,
        parser: IRParser,
        start: int,
    ) -> None:
        at = 0
        for slot in slots:
            count = len(state.operands.get(slot.name, ()))
            state.types[slot.name] = flat[at : at + count]
            at += count
        if at != len(flat):
            parser.raise_error(f"{at} operands present, but expected {len(flat)}", start)

    def _build(self, parser: IRParser, state: ParseState, start: int) -> Operation:
        operands: list[Any] = []
        sizes: list[int] = []
        for slot in self.operands:
            names = state.operands.get(slot.name, ())
            types = state.types.get(slot.name)
            if names and types is None:
                parser.raise_error(f"'{self.op.name}': type of '{slot.name}' is not known", start)
            if types is not None and len(types) != len(names):
                parser.raise_error(
                    f"{len(names)} operands present, but expected {len(types)}", start
                )
            for name, type in zip(names, types or (), strict=True):
                operands.append(parser.resolve_operand(name, type))
            sizes.append(len(names))
        properties = state.properties
        if self.sizes_operands:
            properties["operandSegmentSizes"] = DenseArrayBase.from_list(i32, sizes)
        for name, default in self.defaults.items():
            if name not in properties:
                properties[name] = default
        return self.op.create(
            operands=operands,
            result_types=self._result_types(state),
            properties=properties,
            attributes=state.attributes,
            regions=[r for slot in self.regions for r in self._regions_of(slot, state)],
            successors=[b for s in self.successors for b in state.successors.get(s.name, ())],
        )

    def _regions_of(self, slot: Slot, state: ParseState) -> Sequence[Region]:
        found = state.regions.get(slot.name)
        if found is None:
            return () if slot.is_optional_or_variadic else (Region(),)
        return found

    def _result_types(self, state: ParseState) -> Sequence[Attribute]:
        if state.flat_result_types is not None:
            return state.flat_result_types
        types: list[Attribute] = []
        sizes: list[int] = []
        for slot in self.results:
            found = state.types.get(slot.name, ())
            types.extend(found)
            sizes.append(len(found))
        if self.sizes_results:
            state.properties["resultSegmentSizes"] = DenseArrayBase.from_list(i32, sizes)
        return types


def compile_format(op: type[AsmOp]) -> Format:
    """The parser and printer of `op`, from its class constants."""
    return Format(op)
