"""What of the arguments that are no tensors a kernel depends on, as a key.

Numbers, text and dtypes are keys themselves, distinguished by their types: 1, 1.0 and True make
different kernels, and so do 0.0 and -0.0. Lists, dicts and arrays of NumPy count by their contents.
Anything else is an object: it is described together with the functions that read it (`Reads`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np

from tilewright.frontend.reads import Reads, atom
from tilewright.language.T.dtypes import dtype as Dtype


def key_of(function: Callable[..., Any], arguments: Mapping[Any, Any]) -> tuple[Any, ...]:
    """A key for `arguments` of `function`."""
    objects: list[object] = []
    key = tuple((name, frozen(value, objects)) for name, value in arguments.items())
    if not objects:
        return key
    contents = Reads((function,), objects).contents
    return (
        *key,
        object() if contents is None else contents,
    )  # equal to nothing if there are too many


def frozen(value: Any, objects: list[object]) -> Any:
    """`value` as part of a key; one that may change otherwise is put into `objects`."""
    kind = cast("type[Any]", type(value))
    if kind is list or kind is tuple:
        parts = cast("Sequence[Any]", value)
        return (kind, *(frozen(each, objects) for each in parts))
    if kind is dict:
        entries = cast("Mapping[Any, Any]", value)
        pairs = ((frozen(key, objects), frozen(each, objects)) for key, each in entries.items())
        return (kind, *pairs)
    if kind is np.ndarray and not value.dtype.hasobject:
        array = cast("np.ndarray[Any, Any]", value)
        return (kind, str(array.dtype), array.shape, array.tobytes())
    if isinstance(value, Dtype) or kind.__qualname__ == "dtype":  # torch's
        return (kind, value)
    found = atom(value)
    if found is None:
        objects.append(value)
        return (object, len(objects))
    return found
