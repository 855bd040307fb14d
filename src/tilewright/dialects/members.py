"""A dialect from the names of its module: no list of ops beside the classes.

An op or attribute belongs to the dialect named by the part of its name before the first dot.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.ir import Attribute, Dialect, Operation


def dialect_of(name: str, namespace: Mapping[str, object]) -> Dialect:
    """The dialect `name`, with the ops and attributes in `namespace`, by class name."""
    found = {
        each
        for each in namespace.values()
        if isinstance(each, type) and str(vars(each).get("name")).startswith(f"{name}.")
    }
    classes = sorted(found, key=lambda each: each.__name__)
    return Dialect(
        name,
        [each for each in classes if issubclass(each, Operation)],
        [each for each in classes if issubclass(each, Attribute)],
    )
