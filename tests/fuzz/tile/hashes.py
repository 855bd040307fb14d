"""Family `hashes`: integer arithmetic that overflows, as random numbers and hash tables have it.

Integers of `T` wrap. In C++ a signed overflow is undefined, and a compiler that assumes there is
none folds ``x + 1 > x`` to true and moves sign extensions over additions: only a GPU shows it. So
integer values of this family are multiplied by large odd numbers, mixed with their own shifts, and
compared with their own sums.
"""

from __future__ import annotations

from tests.fuzz.tile import values
from tests.fuzz.tile.elementwise import Body
from tests.fuzz.tile.scope import Index, Scope
from tests.fuzz.tile.statements import Statements
from tests.fuzz.tile.values import Value, is_float

_FACTORS = (1103515245, 1664525, -1640531535, 2147483647, 16777619)
_MOST = 3
"""Steps of mixing of one value."""


class Mixing(Statements):
    """Statements whose integers overflow."""

    def value(self, scope: Scope, indices: list[Index], body: Body | None, depth: int = 2) -> Value:
        found = super().value(scope, indices, body, depth)
        if is_float(found.dtype) or self.rng.random() < 0.4:
            return found
        for _ in range(self.rng.randint(1, _MOST)):
            found = self._mixed(found)
        return found

    def _mixed(self, value: Value) -> Value:
        rng = self.rng
        kind = rng.randrange(4)
        if kind == 0:
            return values.binary("*", value, values.number(rng.choice(_FACTORS)))
        if kind == 1:
            return values.binary("+", value, values.number(rng.choice(_FACTORS)))
        wide = values.integer("|", value, 1)  # at least an int32, used more than once below
        if kind == 2:
            word, shift = rng.choice((("<<", 13), (">>", 17), (">>", 5), ("<<", 7)))
            shifted = values.integer(word, wide, shift)
            return Value(
                f"({wide.tile} ^ {shifted.tile})",
                f"({wide.numpy} ^ {shifted.numpy})",
                wide.dtype,
                values.largest(wide.dtype),
            )
        more = values.binary("+", wide, values.number(rng.choice((1, 1, _FACTORS[3]))))
        grows = (f"({more.tile} > {wide.tile})", f"({more.numpy} > {wide.numpy})")
        return values.choice(grows, wide, values.negated(wide))
