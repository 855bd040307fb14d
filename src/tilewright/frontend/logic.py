"""``and`` and ``or`` of constants and run-time values, and chained comparisons.

Constants decide as in Python: they end the evaluation or have no part in the result. Run-time
values are all evaluated, and combined from the right: ``a and b and c`` is ``a & (b & c)``.
"""

from __future__ import annotations

from typing import Literal

from tilewright.frontend.values import Value
from tilewright.frontend.vocabulary import Vocabulary

LogicalOperator = Literal["and", "or"]


class Logic:
    """One ``and`` or ``or`` while its operands are evaluated."""

    __slots__ = ("_known", "_operator", "_values", "_vocabulary")

    def __init__(self, vocabulary: Vocabulary, operator: LogicalOperator) -> None:
        self._vocabulary = vocabulary
        self._operator: LogicalOperator = operator
        self._values: list[object] = []
        self._known: object = None

    def take(self, value: object) -> bool:
        """Take the next operand; whether the one after it is to be evaluated."""
        if isinstance(value, Value):
            self._values.append(value)
            return True
        self._known = value
        if bool(value) is (self._operator == "and"):
            return True
        self._values.clear()
        return False

    def result(self) -> object:
        if not self._values:
            return self._known
        result = self._values.pop()
        while self._values:
            result = self._vocabulary.logical(self._operator, self._values.pop(), result)
        return result
