"""Drop unreferenced private functions and other private symbols.

What can be seen from outside is alive, and so is every symbol that something alive mentions in an
attribute. A private function that only calls itself, or only other dead functions, is dead too.
Mentions are compared by name alone: a symbol of the same name elsewhere keeps it alive.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr, SymbolRefAttr
from xdsl.ir import Attribute, Operation, ParametrizedAttribute
from xdsl.traits import SymbolTable

from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.symbols import symbol_name, symbols_in
from tilewright.ir.traversal import walk


@dataclass(frozen=True)
class SymbolDce(Pass):
    """Erase private symbols that are never used."""

    name = "symbol-dce"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        rewriter = Rewriter()
        for op in unused_symbols(module):
            rewriter.erase(op)


def unused_symbols(module: ModuleOp) -> list[Operation]:
    """The private symbols that nothing alive refers to, in textual order."""
    candidates = [op for op in _all_symbols(module) if _is_private(op)]
    inside = set(candidates)
    alive = _mentions(_outside(module, inside))
    dead = dict.fromkeys(candidates)
    while found := [op for op in dead if (symbol_name(op) or "") in alive]:
        for op in found:
            del dead[op]
            alive |= _mentions(walk(op))
    # A dead symbol inside another goes with it.
    return [op for op in dead if not any(o is not op and o.is_ancestor(op) for o in dead)]


def _all_symbols(module: ModuleOp) -> Iterator[Operation]:
    for op in walk(module):
        if op.get_trait(SymbolTable) is not None:
            yield from symbols_in(op)


def _is_private(op: Operation) -> bool:
    visibility = op.get_attr_or_prop("sym_visibility")
    return isinstance(visibility, StringAttr) and visibility.data == "private"


def _outside(root: Operation, excluded: set[Operation]) -> Iterator[Operation]:
    """All ops of ``root`` except those inside an excluded one."""
    skip: set[Operation] = set()
    for op in walk(root):
        parent = op.parent_op()
        if op in excluded or parent in skip:
            skip.add(op)
        else:
            yield op


def _mentions(ops: Iterator[Operation]) -> set[str]:
    names: set[str] = set()
    for op in ops:
        pending: list[Attribute] = [*op.properties.values(), *op.attributes.values()]
        while pending:
            attribute = pending.pop()
            if isinstance(attribute, SymbolRefAttr):
                names.add(attribute.root_reference.data)
                names.update(name.data for name in attribute.nested_references.data)
            else:
                pending.extend(_parts(attribute))
    return names


def _parts(attribute: Attribute) -> Sequence[Attribute]:
    if isinstance(attribute, ArrayAttr):
        return ArrayAttr[Attribute].get(attribute).data
    if isinstance(attribute, DictionaryAttr):
        return tuple(attribute.data.values())
    return attribute.parameters if isinstance(attribute, ParametrizedAttribute) else ()
