"""The printer: text equal to what MLIR prints, character for character.

``xdsl.printer.Printer`` is the base so that attributes and ops of stock dialects print
themselves, but what it decides is decided here: value names (``names``), aliases (``aliases``),
locations, float literals, sorted dictionaries and the spelling of ``module``.

Output is a list of chunks, strings and alias entries, joined at the end. An attribute or type is
printed once; every further occurrence is one list append.
"""

# pyright: reportPrivateUsage=false, reportIncompatibleMethodOverride=false
# Overriding private methods of a pinned xDSL is this module's purpose.

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from xdsl.dialects.builtin import (
    AnyFloat,
    ArrayAttr,
    CallSiteLoc,
    DenseIntOrFPElementsAttr,
    FileLineColLoc,
    FloatAttr,
    FusedLoc,
    IndexType,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    NameLoc,
    NoneAttr,
    UnitAttr,
    UnknownLoc,
    UnregisteredOp,
    f64,
    i1,
    i64,
)
from xdsl.ir import (
    Attribute,
    Block,
    BlockArgument,
    Data,
    Operation,
    ParametrizedAttribute,
    Region,
    SSAValue,
)
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove, IsTerminator

from tilewright.ir.text.aliases import Entry, Segment, join, name_aliases
from tilewright.ir.text.flavour import DEFAULT, Flavour
from tilewright.ir.text.floats import format_float
from tilewright.ir.text.locations import LOCATION_CLASSES, FileLineColRangeLoc
from tilewright.ir.text.names import ValueNames
from tilewright.ir.text.resources import Resources

_HEX_ELEMENTS = 100
"""Dense constants with more elements than this are printed as a string of bytes."""

_BUILTIN = "builtin."


class IRPrinter(Printer):
    """Prints one operation; use ``print_module``."""

    def __init__(
        self,
        *,
        locations: bool = False,
        generic: bool = False,
        flavour: Flavour = DEFAULT,
        use_hints: bool = True,
    ) -> None:
        super().__init__(print_generic_format=generic, print_debuginfo=locations)
        self.flavour = flavour
        self._use_hints = use_hints
        self._out: list[Segment] = []
        self._children: list[Entry] | None = None
        self._deferring = False
        self._entries: dict[Attribute, Entry] = {}
        self._by_identity: dict[int, Entry] = {}
        self._names: ValueNames | None = None
        self._jumps: dict[Region, dict[Block, list[str]]] = {}
        self._new_line = "\n"

    def render(self, top: Operation, resources: Resources | None = None) -> str:
        """The text of `top` with all alias definitions."""
        self._names = ValueNames(
            top,
            names_from_locations=self.flavour.names_from_locations,
            use_hints=self._use_hints,
        )
        self.print_op(top)
        aliased = name_aliases(list(self._entries.values()))
        before = [entry.definition for entry in aliased if not entry.deferrable]
        after = [entry.definition for entry in aliased if entry.deferrable]
        body = join(self._out)
        metadata = f"\n{resources}\n" if resources is not None and resources.sections else ""
        return "".join((*before, body, "\n", *after, metadata))

    def render_inside(self, op: Operation) -> str:
        """The text of `op` alone, with the names it has in its function and nothing aliased."""
        scope = op
        while (parent := scope.parent_op()) is not None and not scope.has_trait(IsolatedFromAbove):
            scope = parent
        self._names = ValueNames(
            scope,
            names_from_locations=self.flavour.names_from_locations,
            use_hints=self._use_hints,
        )
        self.print_op(op)
        return join(self._out)

    # -- characters --------------------------------------------------------------------------

    def print_string(self, text: str, *, indent: int | None = None) -> None:
        if "\n" in text:
            text = text.replace("\n", self._new_line)
        self._out.append(text)

    def _print_new_line(self, indent: int | None = None, print_message: bool = True) -> None:
        self._out.append(self._new_line)

    def print_new_line(self) -> None:
        self._out.append(self._new_line)

    def indented(self, amount: int = 1) -> Any:
        return _Indented(self, amount)

    # -- attributes --------------------------------------------------------------------------

    def print_attribute(self, attribute: Attribute) -> None:
        self._out.append(self._visit(attribute))

    def print_stripped(self, attribute: Attribute) -> None:
        """A dialect type or attribute without its ``!dialect.name`` (or its alias, if any)."""
        entry = self._visit(attribute)
        if entry.stem is not None:
            self._out.append(entry)
            return
        if isinstance(attribute, ParametrizedAttribute):
            attribute.print_parameters(self)
        elif isinstance(attribute, Data):
            attribute.print_parameter(self)

    def _visit(self, attribute: Attribute) -> Entry:
        """The entry of `attribute`, made on the first visit, noted as part of its parent."""
        entry = self._by_identity.get(id(attribute))
        if entry is None:
            entry = self._entries.get(attribute)
            if entry is None:
                entry = self._new_entry(attribute)
            self._by_identity[id(attribute)] = entry
            self._alive.append(attribute)
        if not self._deferring and entry.deferrable:
            entry.pin()
        if self._children is not None:
            self._children.append(entry)
        return entry

    @property
    def _alive(self) -> list[Attribute]:
        """Attributes whose identity is a key; they must not be collected meanwhile."""
        return self.__dict__.setdefault("_alive_attributes", [])

    def _new_entry(self, attribute: Attribute) -> Entry:
        entry = Entry(attribute, _alias_stem(attribute), self._deferring)
        self._entries[attribute] = entry
        outer_out, outer_children = self._out, self._children
        self._out, self._children = entry.segments, entry.children
        self._print_attribute_body(attribute)
        self._out, self._children = outer_out, outer_children
        entry.finish()
        if entry.depth == 0:
            entry.segments[:] = [join(entry.segments)]
        return entry

    def _print_attribute_body(self, attribute: Attribute) -> None:
        if isinstance(attribute, LOCATION_CLASSES):
            self.print_string("loc(")
            self._print_location_body(attribute)
            self.print_string(")")
        elif isinstance(attribute, DenseIntOrFPElementsAttr):
            self._print_dense(attribute)
        elif isinstance(attribute, ArrayAttr):
            self._print_array(attribute)
        else:
            super().print_attribute(attribute)

    def _print_array(self, array: ArrayAttr[Attribute]) -> None:
        """``[1, 2.0, 3 : i32]``: in an array numbers of 64 bits go without their type."""

        def print_element(element: Attribute) -> None:
            match element:
                case IntegerAttr(value=number, type=type) if type == i64:
                    self.print_int(number.data)
                case FloatAttr(value=number, type=type) if type == f64:
                    self.print_float(number.data, f64)
                case _:
                    self.print_attribute(element)

        self.print_string("[")
        self.print_list(array.data, print_element)
        self.print_string("]")

    def _print_dense(self, attribute: DenseIntOrFPElementsAttr) -> None:
        type = attribute.type
        element = type.element_type
        if not isinstance(element, (IntegerType, IndexType, AnyFloat)):
            attribute.print_builtin(self)  # complex numbers
            return
        if len(attribute) > _HEX_ELEMENTS and element != i1:
            self.print_string(f'dense<"0x{attribute.data.data.hex().upper()}"> : ')
        else:
            self.print_string("dense<")
            self._print_elements(list(attribute.get_values()), type.get_shape(), element)
            self.print_string("> : ")
        self.print_attribute(type)

    def _print_elements(
        self, values: Sequence[Any], shape: Sequence[int], element: Attribute
    ) -> None:
        if not values:
            return
        if not shape:
            self._print_element(values[0], element)
            return
        stride = len(values) // shape[0]
        self.print_string("[")
        for index in range(shape[0]):
            if index:
                self.print_string(", ")
            part = values[index * stride : (index + 1) * stride]
            self._print_elements(part, shape[1:], element)
        self.print_string("]")

    def _print_element(self, value: Any, element: Attribute) -> None:
        if isinstance(element, AnyFloat):
            self.print_float(value, element)
        else:
            self.print_int(value, element)  # pyright: ignore[reportArgumentType]

    def print_successors(self, successors: Sequence[Block]) -> None:
        if successors:
            self._out.append("[")
            self.print_list(successors, self.print_block_name)
            self._out.append("]")

    def print_string_literal(self, string: str) -> None:
        self.print_bytes_literal(string.encode("utf-8", "surrogateescape"))

    def print_float(self, value: float, type: AnyFloat) -> None:
        self.print_string(format_float(value, type))

    def print_attr_dict(self, attr_dict: Mapping[str, Attribute]) -> None:
        separator = "{"
        for name in sorted(attr_dict):
            self._out.append(separator)
            separator = ", "
            self.print_identifier_or_string_literal(name)
            value = attr_dict[name]
            if not isinstance(value, UnitAttr):
                self._out.append(" = ")
                self.print_attribute(value)
        self._out.append("}" if attr_dict else "{}")

    # -- locations ---------------------------------------------------------------------------

    def print_trailing_location(self, location: Attribute) -> None:
        """`` loc(#locN)`` after an op, if locations are printed."""
        if not self.print_debuginfo:
            return
        entry = self._visit_location(location)
        self._out.append(" loc(")
        self._out.append(_Inner(entry))
        self._out.append(")")

    def print_argument_location(self, location: Attribute) -> None:
        """`` loc("x"(#loc))`` after a block argument; MLIR never uses an alias for the whole."""
        if not self.print_debuginfo:
            return
        self._visit(location)
        self.print_string(" loc(")
        self._print_location_body(location)
        self.print_string(")")

    def _visit_location(self, location: Attribute) -> Entry:
        self._deferring = True
        entry = self._visit(location)
        self._deferring = False
        return entry

    def _print_location_body(self, location: Attribute) -> None:
        match location:
            case UnknownLoc():
                self.print_string("unknown")
            case FileLineColLoc(filename=name, line=line, column=column):
                self.print_string_literal(name.data)
                self.print_string(f":{line.data}:{column.data}")
            case FileLineColRangeLoc():
                self._print_range(location)
            case NameLoc(desc=name, location=inner):
                self.print_string_literal(name.data)
                if not isinstance(inner, (NoneAttr, UnknownLoc)):
                    self.print_string("(")
                    self._print_nested_location(inner)
                    self.print_string(")")
            case CallSiteLoc(callee=callee, caller=caller):
                self.print_string("callsite(")
                self._print_nested_location(callee)
                self.print_string(" at ")
                self._print_nested_location(caller)
                self.print_string(")")
            case FusedLoc(locations=ArrayAttr(data=inner), metadata=metadata):
                self.print_string("fused")
                if not isinstance(metadata, NoneAttr):
                    self.print_string("<")
                    self.print_attribute(metadata)
                    self.print_string(">")
                self.print_string("[")
                self.print_list(inner, self._print_nested_location)
                self.print_string("]")
            case _:
                raise ValueError(f"not a location: {location}")

    def _print_range(self, location: FileLineColRangeLoc) -> None:
        self.print_string_literal(location.filename.data)
        self.print_string(f":{location.start_line.data}:{location.start_column.data} to ")
        if location.end_line != location.start_line:
            self.print_string(f"{location.end_line.data}")
        self.print_string(f":{location.end_column.data}")

    def _print_nested_location(self, location: Attribute) -> None:
        self._out.append(_Inner(self._visit(location)))

    # -- values, blocks, regions -------------------------------------------------------------

    @property
    def names(self) -> ValueNames:
        assert self._names is not None, "values have names only inside render()"
        return self._names

    def print_ssa_value(self, value: SSAValue) -> str:
        name = self.names.of(value)
        self._out.append("%" + name)
        return name

    def print_operand(self, operand: SSAValue) -> None:
        self._out.append("%" + self.names.of(operand))

    def print_block_name(self, block: Block) -> str:
        name = self.names.block(block)
        self._out.append("^" + name)
        return name

    def print_block_argument(self, arg: BlockArgument, print_type: bool = True) -> None:
        self.print_ssa_value(arg)
        if print_type:
            self._out.append(": ")
            self.print_attribute(arg.type)
            self.print_argument_location(arg.location)

    def print_region(
        self,
        region: Region,
        print_entry_block_args: bool = True,
        print_empty_block: bool = False,
        print_block_terminators: bool = True,
    ) -> None:
        self._out.append("{")
        for index, block in enumerate(region.blocks):
            has_label = (
                index > 0
                or (bool(block.args) and print_entry_block_args)
                or (block.is_empty and print_empty_block)
            )
            self.print_block(block, has_label, print_block_terminators)
        self._print_new_line()
        self._out.append("}")

    def print_block(
        self,
        block: Block,
        print_block_args: bool = True,
        print_block_terminator: bool = True,
    ) -> None:
        if print_block_args:
            self._print_label(block)
        with self.indented():
            for op in block.ops:
                if not print_block_terminator and op.has_trait(
                    IsTerminator, value_if_unregistered=False
                ):
                    continue
                self._out.append(self._new_line)
                self.print_op(op)

    def _print_label(self, block: Block) -> None:
        # MLIR indents a label like the op that owns the region.
        self._print_new_line()
        self.print_block_name(block)
        if block.args:
            self._out.append("(")
            self.print_list(block.args, self.print_block_argument)
            self._out.append(")")
        self._out.append(":")
        predecessors = self._predecessors(block)
        if predecessors is not None:
            self._out.append(f"  // {predecessors}")

    def _predecessors(self, block: Block) -> str | None:
        """MLIR's comment on where a block is reached from."""
        region = block.parent
        if region is None or region.blocks.first is block:
            return None
        sources = self._jumps_in(region).get(block, [])
        if not sources:
            return "no predecessors"
        # A block that jumps here twice is listed twice, as in MLIR.
        listed = ", ".join("^" + name for name in sorted(sources, key=_block_index))
        return f"pred: {listed}" if len(sources) == 1 else f"{len(sources)} preds: {listed}"

    def _jumps_in(self, region: Region) -> dict[Block, list[str]]:
        """The names of the blocks that jump to each block, once per jump."""
        found = self._jumps.get(region)
        if found is None:
            found = self._jumps[region] = {}
            for block in region.blocks:
                last = block.last_op
                for target in last.successors if last is not None else ():
                    found.setdefault(target, []).append(self.names.block(block))
        return found

    # -- operations --------------------------------------------------------------------------

    def print_op(self, op: Operation) -> None:
        location = None
        if self.print_debuginfo:
            # MLIR visits the location before anything else of the op.
            location = self._visit_location(op.location)
        out = self._out
        if op.results:
            out.append(self.names.results(op) + " = ")
        is_custom = not self.print_generic_format and type(op).print is not Operation.print
        if is_custom and not isinstance(op, UnregisteredOp):
            mnemonic = getattr(op, "asm_mnemonic", None)  # only ops whose name has changed have one
            name = op.name if mnemonic is None else mnemonic(self.flavour)
            out.append(name if name[: len(_BUILTIN)] != _BUILTIN else _short_name(op))
            op.print(self)
        else:
            name = op.op_name.data if isinstance(op, UnregisteredOp) else op.name
            out.append(f'"{name}"')
            self.print_op_with_default_format(op)
        if location is not None:
            out.append(" loc(")
            out.append(_Inner(location))
            out.append(")")

    def print_op_with_default_format(self, op: Operation) -> None:
        self.print_operands(op.operands)
        self.print_successors(op.successors)
        self._print_op_properties(op.properties)
        self._print_generic_regions(op.regions)
        attributes = {k: v for k, v in op.attributes.items() if k != "op_name__"}
        self.print_op_attributes(attributes)
        self._out.append(" : ")
        self.print_operation_type(op)

    def _print_generic_regions(self, regions: Sequence[Region]) -> None:
        if not regions:
            return
        self._out.append(" (")
        self.print_list(regions, lambda region: self.print_region(region, print_empty_block=True))
        self._out.append(")")

    def print_operation_type(self, op: Operation) -> None:
        self.print_function_type(op.operand_types, op.result_types)


class _Inner(Entry):
    """A location inside ``loc(...)``: its alias, or its spelling without the ``loc(`` around."""

    def __init__(self, entry: Entry) -> None:
        super().__init__(entry.attribute, None, False)
        self._entry = entry

    @property
    def text(self) -> str:
        text = self._entry.text
        return text if text.startswith("#") else text[len("loc(") : -1]


class _Indented:
    def __init__(self, printer: IRPrinter, amount: int) -> None:
        self._printer = printer
        self._amount = amount

    def __enter__(self) -> None:
        self._outer = self._printer._new_line
        self._printer._new_line = self._outer + "  " * self._amount

    def __exit__(self, *_: object) -> None:
        self._printer._new_line = self._outer


def _short_name(op: Operation) -> str:
    """The name of a builtin op; a module implies the dialect for itself and what it contains."""
    if isinstance(op, ModuleOp) or isinstance(op.parent_op(), ModuleOp):
        return op.name.removeprefix(_BUILTIN)
    return op.name


def _alias_stem(attribute: Attribute) -> str | None:
    if isinstance(attribute, LOCATION_CLASSES):
        return "loc"
    return getattr(attribute, "ASM_ALIAS", None)


def _block_index(name: str) -> int:
    digits = name.removeprefix("bb")
    return int(digits) if digits.isdigit() else 0


def print_module(
    top: Operation,
    *,
    locations: bool = False,
    generic: bool = False,
    flavour: Flavour = DEFAULT,
    use_hints: bool = True,
    resources: Resources | None = None,
) -> str:
    """The text of `top`, ending in a newline."""
    printer = IRPrinter(locations=locations, generic=generic, flavour=flavour, use_hints=use_hints)
    return printer.render(top, resources)


def print_operation(op: Operation, *, generic: bool = True, flavour: Flavour = DEFAULT) -> str:
    """`op` on its own, with the names it has in its function, as messages quote it."""
    return IRPrinter(generic=generic, flavour=flavour).render_inside(op)


def _debug_text(self: Operation) -> str:
    return print_module(self).rstrip("\n")


# What a debugger or an f-string shows of an op is our text as well; the stock printer does not
# know the methods our ops print with.
Operation.__str__ = _debug_text
