"""Device functions that emitted kernels call, over clang's builtins: no header of ROCm is needed.

A kernel's source holds only those that it uses, so that it can be read and compiled by itself.
Everything is in `namespace tw`. `KEYWORDS` come before it: they are defined where the run-time
compiler's implicit header has not defined them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tilewright.layouts.hardware.amd_chips import Chip
from tilewright.targets.hip.header.function import Function
from tilewright.targets.hip.header.functions import functions_of

_KEYWORDS: Mapping[str, str] = {
    "__device__": "__attribute__((device))",
    "__global__": "__attribute__((global))",
    "__shared__": "__attribute__((shared))",
    "__constant__": "__attribute__((constant))",
    "__forceinline__": "inline __attribute__((always_inline))",
}

KEYWORDS = "\n".join(
    f"#ifndef {name}\n#define {name} {meaning}\n#endif" for name, meaning in _KEYWORDS.items()
)
"""The keywords of HIP, where nothing has defined them yet."""


def definitions(names: Iterable[str], generated: Mapping[str, str], chip: Chip) -> str:
    """The text of the functions `names` and what they need, and of the generated ones."""
    functions = functions_of(chip)
    chosen: dict[str, Function] = {}
    for name in names:
        _add(name, functions, chosen, chip)
    texts = [each.written() for each in chosen.values()]
    texts += [text.strip("\n") for text in generated.values()]
    if not texts:
        return ""
    return "namespace tw {\n\n" + "\n\n".join(texts) + "\n\n}  // namespace tw\n"


def _add(
    name: str, functions: Mapping[str, Function], chosen: dict[str, Function], chip: Chip
) -> None:
    if name in chosen:
        return
    function = functions.get(name)
    if function is None:
        raise LookupError(f"device function 'tw::{name}' is not defined for {chip}")
    for needed in function.needs:
        _add(needed, functions, chosen, chip)
    chosen[name] = function


__all__ = ["KEYWORDS", "definitions"]
