"""Writes one function in two precisions.

In the texts, ``REAL`` is the type, ``@`` the letter that C appends to names and literals of
`float`, and ``$name`` a constant, rounded to the type. ``$name_high`` and ``$name_low`` are two
numbers whose sum is the constant; the first has so few bits that an exponent times it is
exact.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from tilewright.targets.hip.header.mathematics.function import MathFunction


@dataclass(frozen=True)
class Precision:
    """`float` or `double`."""

    type: str
    suffix: str
    bits: int
    """Of the mantissa, the leading one included."""
    exponent_bits: int
    integer: str
    """An unsigned integer as wide."""

    def rounded(self, value: Fraction, bits: int | None = None) -> Fraction:
        """The nearest number of so many bits; exponents have no limit."""
        digits = bits or self.bits
        if value == 0:
            return value
        exponent = 0
        magnitude = abs(value)
        exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
        if Fraction(2) ** exponent > magnitude:
            exponent -= 1
        unit = Fraction(2) ** (exponent - digits + 1)
        return round(value / unit) * unit

    def literal(self, value: Fraction) -> str:
        """Shortest digits that give the number back."""
        real = float(self.rounded(value))
        if self.type == "float":
            text = _shortest_float(real)
        else:
            text = repr(real)
        text = text if "." in text or "e" in text else f"{text}.0"
        return f"{text}{self.suffix}"

    def pair(self, value: Fraction, bits: int | None = None) -> tuple[Fraction, Fraction]:
        """Two numbers whose sum is `value`; the first has so many bits."""
        high = self.rounded(value, bits)
        return high, self.rounded(value - high)

    def polynomial(self, name: str, variable: str, coefficients: Sequence[Fraction]) -> str:
        """Statements that evaluate a polynomial, lowest coefficient first in the list."""
        fma = f"__builtin_fma{self.suffix}"
        first, *others = [self.literal(each) for each in reversed(coefficients)]
        lines = [f"  {self.type} {name} = {first};"]
        lines += [f"  {name} = {fma}({name}, {variable}, {each});" for each in others]
        return "\n".join(lines)

    def written(self, text: str, constants: Mapping[str, Fraction | str]) -> str:
        """A text in this precision."""

        def constant(match: re.Match[str]) -> str:
            value = constants[match[1]]
            return value if isinstance(value, str) else self.literal(value)

        text = re.sub(r"\$(\w+)", constant, text)
        return text.replace("REAL", self.type).replace("@", self.suffix).strip("\n")


FLOAT = Precision("float", "f", 24, 8, "unsigned")
DOUBLE = Precision("double", "", 53, 11, "unsigned long long")


def _shortest_float(value: float) -> str:
    for digits in range(1, 10):
        text = f"{value:.{digits}g}"
        (back,) = struct.unpack("<f", struct.pack("<f", float(text)))
        if back == value:
            return text
    return repr(value)


_NONE: Mapping[str, Fraction | str] = {}
Constants = Callable[[Precision], Mapping[str, Fraction | str]]


@dataclass(frozen=True)
class Written:
    """A text for both precisions; its constants are computed when it is first used."""

    name: str
    """As of `double`."""
    text: str
    needs: tuple[str, ...] = ()
    """Names as of `double`; of those that are not mathematics, with ``=`` before them."""
    constants: Constants | None = None
    arguments: int = 1

    def of(self, precision: Precision) -> MathFunction:
        needs = tuple(
            each.removeprefix("=") if each.startswith("=") else f"{each}{precision.suffix}"
            for each in self.needs
        )

        def text() -> str:
            constants = _NONE if self.constants is None else self.constants(precision)
            return precision.written(self.text, constants)

        return MathFunction(text, needs, self.arguments, precision is DOUBLE)


def in_both(written: Sequence[Written]) -> dict[str, MathFunction]:
    """The functions of `float` and of `double`, by name."""
    return {
        f"{each.name}{precision.suffix}": each.of(precision)
        for each in written
        for precision in (FLOAT, DOUBLE)
    }
