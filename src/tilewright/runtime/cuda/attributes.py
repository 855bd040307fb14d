"""Launch attributes beyond grid and block: clusters, cooperation, early start."""

from __future__ import annotations

import ctypes
import struct

# CUlaunchAttributeID
_COOPERATIVE = 2
_CLUSTER_DIMENSION = 4
_CLUSTER_SCHEDULING = 5
_PROGRAMMATIC_SERIALIZATION = 6

_SPREAD = 1  # CU_CLUSTER_SCHEDULING_POLICY_SPREAD
_ATTRIBUTE_BYTES = 72  # the id, 4 bytes of nothing, and 64 bytes of value


def launch_attributes(
    cluster: tuple[int, int, int], *, cooperative: bool, pdl: bool
) -> ctypes.Array[ctypes.c_char]:
    """The attributes as an array of CUlaunchAttribute, `_ATTRIBUTE_BYTES` each."""
    rows: list[bytes] = []
    if pdl:
        rows.append(struct.pack("<I4xi", _PROGRAMMATIC_SERIALIZATION, 1))
    if cooperative:
        rows.append(struct.pack("<I4xi", _COOPERATIVE, 1))
    if cluster != (1, 1, 1):
        rows.append(struct.pack("<I4x3I", _CLUSTER_DIMENSION, *cluster))
        rows.append(struct.pack("<I4xi", _CLUSTER_SCHEDULING, _SPREAD))
    return ctypes.create_string_buffer(
        b"".join(row.ljust(_ATTRIBUTE_BYTES, b"\0") for row in rows), len(rows) * _ATTRIBUTE_BYTES
    )


def attribute_count(attributes: ctypes.Array[ctypes.c_char]) -> int:
    return len(attributes) // _ATTRIBUTE_BYTES
