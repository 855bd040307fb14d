"""What Python values a kernel was compiled with, besides the names that its code captures.

A kernel of `tl` captures names that cannot change unnoticed: constants, functions, modules,
classes (`frontend.captures`). Other values come in where Python runs while the kernel is compiled:

    a @constexpr_function       reads elements of dicts and lists, attributes, globals
   a user's class           its methods do
    a constexpr with contents   ``tl.constexpr([64, 32])``
    an object as an argument    ``config: tl.constexpr``, whose attributes the kernel reads

`frontend.reads` follows these. Most kernels have none of them, and nothing to follow.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from tilewright.frontend.attributes import has_attribute
from tilewright.frontend.captures import RUNS_WHEN_COMPILED, Capture, is_user_defined
from tilewright.frontend.reads import Reads, atom
from tilewright.language.tl.constexpr import constexpr
from tilewright.runtime.specialise import CONSTEXPR, Key

if TYPE_CHECKING:
    from tilewright.runtime.pointer.jit import JITFunction


def host_reads(
    kernel: JITFunction, keys: Sequence[Key], captured: Iterable[Capture]
) -> Reads | None:
    """What may have been read while `kernel` was compiled for `keys`; None if there is nothing."""
    roots = list({id(value): value for value in _roots(keys, captured)}.values())
    # The kernel's own code mentions the attributes that it reads of an object.
    return Reads((kernel,), roots) if roots else None


def _roots(keys: Sequence[Key], captured: Iterable[Capture]) -> Iterator[object]:
    for capture in captured:
        value = capture.value
        is_class = isinstance(value, type) and is_user_defined(value)
        if is_class or has_attribute(value, RUNS_WHEN_COMPILED):
            yield value
        elif isinstance(value, constexpr) and atom(value.value) is None:
            yield value.value
    for key in keys:
        yield from _objects(key)


def _objects(key: Key) -> Iterator[object]:
    if key[0] == "tuple":
        for inner in key[2:]:
            yield from _objects(inner)
    elif key[0] == CONSTEXPR and atom(key[1]) is None:
        yield key[1]
