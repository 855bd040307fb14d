"""Symbolic integers: polynomials over named values, with quotients, remainders and conditions.

Independent of programs and IR. One `Space` per analysis creates symbols and opaque values; `Poly`
is an integer value in normal form, `Formula` a condition; a `Context` has facts and offers every
operation that simplifies. `evaluate` and `arrays` compute, `substitute` replaces, `isl` converts to
integer sets.

    space = Space()
    pid = space.symbol("pid", Interval(0, 131))
    n = space.symbol("n", Interval(0, 2**31 - 1), divisor=16)
    ctx = space.root
    str(ctx.mod(pid * 64 + 3, 8))               '3'
    ctx.assume(ctx.compare("<", pid, n))        a context in which pid < n
"""

from tilewright.analysis.affine.congruence import Congruence
from tilewright.analysis.affine.context import Context
from tilewright.analysis.affine.evaluate import Evaluator, evaluate, holds
from tilewright.analysis.affine.formula import Formula, FormulaKind, conjunction, disjunction
from tilewright.analysis.affine.poly import Monomial, Poly
from tilewright.analysis.affine.ranges import Interval
from tilewright.analysis.affine.space import Space
from tilewright.analysis.affine.substitute import Substitution, substitute
from tilewright.analysis.affine.symbols import Atom, SymbolKind

__all__ = [
    "Atom",
    "Congruence",
    "Context",
    "Evaluator",
    "Formula",
    "FormulaKind",
    "Interval",
    "Monomial",
    "Poly",
    "Space",
    "Substitution",
    "SymbolKind",
    "conjunction",
    "disjunction",
    "evaluate",
    "holds",
    "substitute",
]
