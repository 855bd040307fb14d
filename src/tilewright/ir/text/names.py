"""SSA names, assigned before printing, in MLIR's order and with MLIR's rules.

All values of a region are numbered before the regions nested in it; a nested region starts from
the counters its parent ended with. Three counters exist: plain numbers, ``%argN`` for entry block
arguments, and one shared counter for the suffix of names already taken. A name comes, in this
order, from the location (``NameLoc``, where the flavour has it), from the value's own hint, or
from the op (``%c4_i32``, ``%true``).

An op with several results has one name; its results are ``%name#0``, ``%name#1``, unless the op
names them apart (``OP_RESULT_NAMES``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, Region, SSAValue

from tilewright.ir.text.locations import find_name

_PUNCTUATION = frozenset("$._-")


def _is_legal(character: str) -> bool:
    return character.isascii() and (character.isalnum() or character in _PUNCTUATION)


def sanitize(name: str) -> str:
    """`name` as a legal SSA identifier: a blank becomes ``_``, other characters their hex code.

    What would start with a digit then, starts with ``_`` instead.
    """
    if not name:
        return name
    first = name[0]
    prefix = "_" if first.isdigit() or not (_is_legal(first) or first == " ") else ""
    if all(map(_is_legal, name)):
        return prefix + name
    out = [prefix]
    for character in name:
        if _is_legal(character):
            out.append(character)
        elif character == " ":
            out.append("_")
        else:
            out.extend(f"{byte:X}" for byte in character.encode("utf-8", "surrogateescape"))
    return "".join(out)


@dataclass
class _Scope:
    """Counters and taken names at one point of the numbering."""

    next_value: int = 0
    next_argument: int = 0
    next_conflict: int = 0
    used: set[str] = field(default_factory=set[str])

    def nested(self) -> _Scope:
        return _Scope(self.next_value, self.next_argument, self.next_conflict, set(self.used))


class ValueNames:
    """Names of all values and blocks below one operation."""

    def __init__(self, top: Operation, *, names_from_locations: bool, use_hints: bool) -> None:
        self._names_from_locations = names_from_locations
        self._use_hints = use_hints
        self._operations: dict[Operation, str] = {}
        self._groups: dict[Operation, Sequence[str]] = {}
        self._arguments: dict[BlockArgument, str] = {}
        self._blocks: dict[Block, str] = {}
        scope = _Scope()
        self._name_operation(top, scope)
        pending = [(region, scope) for region in top.regions]
        while pending:
            region, parent = pending.pop()
            inner = parent.nested()
            self._name_region(region, inner)
            for block in region.blocks:
                for op in block.ops:
                    pending.extend((nested, inner) for nested in op.regions)

    # -- queries -----------------------------------------------------------------------------

    def of(self, value: SSAValue) -> str:
        """The name of `value` without the percent sign."""
        if isinstance(value, OpResult):
            op = value.op
            group = self._groups.get(op)
            if group is not None:
                return group[value.index]
            name = self._operations.get(op)
            if name is None:
                return "<<UNKNOWN SSA VALUE>>"
            return name if len(op.results) == 1 else f"{name}#{value.index}"
        if isinstance(value, BlockArgument):
            return self._arguments.get(value, "<<UNKNOWN SSA VALUE>>")
        return "<<FORWARD DECLARED VALUE>>"

    def results(self, op: Operation) -> str:
        """The left-hand side of `op`: ``%x``, ``%x:2`` or ``%a, %b``."""
        group = self._groups.get(op)
        if group is not None:
            return ", ".join("%" + name for name in group)
        count = len(op.results)
        suffix = "" if count == 1 else f":{count}"
        return f"%{self._operations[op]}{suffix}"

    def block(self, block: Block) -> str:
        return self._blocks.get(block, "<<UNKNOWN BLOCK>>")

    # -- numbering ---------------------------------------------------------------------------

    def _name_region(self, region: Region, scope: _Scope) -> None:
        for index, block in enumerate(region.blocks):
            self._blocks[block] = f"bb{index}"
            for argument in block.args:
                self._name_argument(argument, index == 0, scope)
            for op in block.ops:
                self._name_operation(op, scope)

    def _name_argument(self, argument: BlockArgument, is_entry: bool, scope: _Scope) -> None:
        default = ""
        if is_entry:
            default = f"arg{scope.next_argument}"
            scope.next_argument += 1
        name = self._preferred(argument.location, argument.name_hint, default)
        self._arguments[argument] = self._take(name, scope)

    def _name_operation(self, op: Operation, scope: _Scope) -> None:
        results = op.results
        if not results:
            return
        suggest = getattr(op, "asm_result_names", None)
        suggested: Sequence[str] = suggest() if suggest is not None else ()
        if len(suggested) > 1:
            self._groups[op] = [
                self._take(self._preferred(op.location, result.name_hint, name), scope)
                for result, name in zip(results, suggested, strict=True)
            ]
            return
        default = suggested[0] if suggested else ""
        name = self._preferred(op.location, results[0].name_hint, default)
        self._operations[op] = self._take(name, scope)

    def _preferred(self, location: Attribute, hint: str | None, default: str) -> str:
        if self._names_from_locations:
            found = find_name(location)
            if found is not None:
                return found
        return hint if hint and self._use_hints else default

    def _take(self, name: str, scope: _Scope) -> str:
        if not name:
            index = scope.next_value
            scope.next_value += 1
            return str(index)
        name = sanitize(name)
        if name in scope.used:
            stem = name
            while name in scope.used:
                name = f"{stem}_{scope.next_conflict}"
                scope.next_conflict += 1
        scope.used.add(name)
        return name
