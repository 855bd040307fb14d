"""Finding ops by symbol.

xDSL's ``SymbolTable.lookup_symbol`` reads the whole table for every lookup. A verifier or solver
looks up once per call, so the tables here are read once and cached; code that adds or removes
symbols makes a new ``SymbolTables``.
"""

from xdsl.dialects.builtin import StringAttr, SymbolRefAttr
from xdsl.ir import Operation
from xdsl.traits import SymbolTable

from tilewright.ir.traversal import children


class SymbolTables:
    """Symbol tables by the op that owns them, each read at its first use."""

    def __init__(self) -> None:
        self._tables: dict[Operation, dict[str, Operation]] = {}

    def table(self, owner: Operation) -> dict[str, Operation]:
        """The symbols directly inside ``owner``; of several with one name, the first."""
        table = self._tables.get(owner)
        if table is None:
            table = self._tables[owner] = {}
            for op in symbols_in(owner):
                table.setdefault(symbol_name(op) or "", op)
        return table

    def lookup(self, user: Operation, symbol: SymbolRefAttr) -> Operation | None:
        """The op that ``symbol`` names, seen from the closest table around ``user``."""
        owner: Operation | None = user
        while owner is not None and owner.get_trait(SymbolTable) is None:
            owner = owner.parent_op()
        if owner is None:
            return None
        found = self.table(owner).get(symbol.root_reference.data)
        for name in symbol.nested_references.data:
            if found is None or found.get_trait(SymbolTable) is None:
                return None
            found = self.table(found).get(name.data)
        return found


def symbol_name(op: Operation) -> str | None:
    """The name of ``op`` in its table."""
    name = op.get_attr_or_prop("sym_name")
    return name.data if isinstance(name, StringAttr) else None


def symbols_in(owner: Operation) -> list[Operation]:
    """The named ops directly inside a symbol table, in textual order."""
    return [op for op in children(owner) if symbol_name(op) is not None]
