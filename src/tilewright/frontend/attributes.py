"""Attributes of objects that the user made, read without the user's knowledge.

A ``__getattr__`` of the user may raise anything for a name that it does not expect:

    class Settings(dict):
        __getattr__ = dict.__getitem__        # KeyError

Where Tilewright looks at an object it does not know, every exception means that there is no such
attribute. A kernel that reads it itself gets the exception.
"""

from __future__ import annotations

from typing import Any

_ABSENT = object()


def attribute_of(value: object, name: str, default: Any = None) -> Any:
    """An attribute of any object; `default` if it has none."""
    try:
        return getattr(value, name, default)
    except Exception:
        return default


def has_attribute(value: object, name: str) -> bool:
    """Whether any object has an attribute."""
    return attribute_of(value, name, _ABSENT) is not _ABSENT
