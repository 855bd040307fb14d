"""Device functions that emitted kernels call: what C++ has no operator for.

A kernel's source holds only those it uses, so that it can be read and compiled by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tilewright.targets.cuda.header.arithmetic import ARITHMETIC, CONVERSIONS, TYPES
from tilewright.targets.cuda.header.atomics import ATOMICS
from tilewright.targets.cuda.header.barriers import BARRIERS
from tilewright.targets.cuda.header.copies import COPIES, TILES
from tilewright.targets.cuda.header.exchange import EXCHANGE
from tilewright.targets.cuda.header.function import Function
from tilewright.targets.cuda.header.hints import ACCESSES, INDICES, POLICIES
from tilewright.targets.cuda.header.matrices import MMA_SUPPORT
from tilewright.targets.cuda.header.tensor_memory import TENSOR_MEMORY

FUNCTIONS: Mapping[str, Function] = {
    **TYPES,
    **ARITHMETIC,
    **CONVERSIONS,
    **BARRIERS,
    **COPIES,
    **TILES,
    **POLICIES,
    **ACCESSES,
    **INDICES,
    **MMA_SUPPORT,
    **TENSOR_MEMORY,
    **EXCHANGE,
    **ATOMICS,
}
"""The device functions, by name."""


def definitions(names: Iterable[str], generated: Mapping[str, str]) -> str:
    """The text of the functions `names` and what they need, and of the generated ones."""
    chosen: dict[str, Function] = {}
    for name in names:
        _add(name, chosen)
    texts = [each.text.strip("\n") for each in chosen.values()]
    texts += [text.strip("\n") for text in generated.values()]
    if not texts:
        return ""
    return "namespace tw {\n\n" + "\n\n".join(texts) + "\n\n}  // namespace tw\n"


def headers(names: Iterable[str]) -> set[str]:
    """The headers of CUDA that the functions `names` need."""
    chosen: dict[str, Function] = {}
    for name in names:
        _add(name, chosen)
    return {header for each in chosen.values() for header in each.headers}


def _add(name: str, chosen: dict[str, Function]) -> None:
    if name in chosen:
        return
    function = FUNCTIONS[name]
    for needed in function.needs:
        _add(needed, chosen)
    chosen[name] = function
