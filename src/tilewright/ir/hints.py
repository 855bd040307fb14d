"""Names of values that come from a user's variables.

xDSL strips ``_<digits>`` from the end of a name each time it is set, and copies names from value to
value. Of ``_0`` it keeps "", and of ``_0_1`` what it strips to "" next; names that are empty it
rejects. Such a value gets no name.
"""

from __future__ import annotations

import re

from xdsl.ir import SSAValue

_SUFFIXES = re.compile(r"(_\d+)*")


def name_hint_of(name: str | None) -> str | None:
    """A name as one that a value may have, now and when it is copied; None if there is none."""
    if name is None or not SSAValue.is_valid_name(name) or _SUFFIXES.fullmatch(name):
        return None
    return name
