"""The contents of an entry's file: named sections of bytes, and a digest over all of it.

    tilewright-cache-v2 <kind>-<key>                    the mark, see `directory`
    ["<sha256 of table and body>", [["name", bytes], …]]
    <body: the sections, contiguous>

The mark names the entry, so a file that was renamed or copied is not taken for another. Nothing in
it is executed when it is read: there are no pickles.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, cast

from tilewright.targets.store.directory import mark

DAMAGED = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)
"""What may be raised by reading sections that do not hold what they should."""


def packed(name: str, sections: Mapping[str, bytes]) -> bytes:
    """The contents of the file `name`."""
    body = b"".join(sections.values())
    table = [[section, len(data)] for section, data in sections.items()]
    head = json.dumps([_digest(table, body), table])
    return b"\n".join([mark(name), head.encode(), body])


def unpacked(name: str, data: bytes) -> dict[str, bytes] | None:
    """The sections in the contents of the file `name`; None if they are damaged."""
    line, _, rest = data.partition(b"\n")
    head, _, body = rest.partition(b"\n")
    if line != mark(name):
        return None
    try:
        return _sections(json.loads(head), body)
    except DAMAGED:
        return None


def _sections(head: Any, body: bytes) -> dict[str, bytes] | None:
    checksum, table = cast("tuple[str, list[tuple[str, int]]]", head)
    if _digest(table, body) != checksum:
        return None
    sections: dict[str, bytes] = {}
    start = 0
    for section, size in table:
        if not isinstance(cast("object", section), str) or size < 0:
            return None
        sections[section] = body[start : start + size]
        start += size
    return sections if start == len(body) else None


def _digest(table: object, body: bytes) -> str:
    state = hashlib.sha256(json.dumps(table).encode())
    state.update(b"\n")
    state.update(body)
    return state.hexdigest()
