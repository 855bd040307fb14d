"""Groups and layouts as one line of text, in the notation of docs/buffers.md.

"S p100, L c30>p"    a shared buffer p of 100 elements, then a local c of 30 that aliases p
"p[0,100) c[0,30)"   where they lie
"""

import re

import numpy as np

from tilewright.buffers import BufferGroup

_BUFFER = re.compile(r"([SPL]) ([A-Za-z_]\w*?)(\d+)(?:>(\w+?))?$")
_PLACE = re.compile(r"(\w+)\[(\d+),(\d+)\)")


class Owner:
    """Anything that can be hashed and referenced weakly can own buffers."""

    precision = np.float32
    persistent_local_elements = 0


def requests(text):
    """(name, size, location, persistent, aliases) of every buffer in `text`."""
    for part in filter(None, re.split(r",\s*", text)):
        kind, name, size, target = _BUFFER.match(part).groups()
        yield name, int(size), "shared" if kind == "S" else "local", kind == "P", target


def group_of(text, **options):
    group = BufferGroup(**options)
    for request in requests(text):
        group.register(*request)
    return group


def places(text, scale=1):
    return {
        name: slice(scale * int(start), scale * int(stop))
        for name, start, stop in _PLACE.findall(text)
    }


def sizes(text, scale=1):
    return {name: scale * int(size) for name, size in re.findall(r"([A-Za-z]\w*) (\d+)", text)}
