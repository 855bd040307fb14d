"""``tlx``: what the TLX language adds to Triton's IR.

``storage`` defines which buffers share bytes, ``placed`` at which addresses, ``layouts`` requires
layouts and lets go of them. Everything else that TLX programs do is in ``ttg`` and
``ttng``.
"""

from __future__ import annotations

from tilewright.dialects.members import dialect_of
from tilewright.dialects.tlx.attributes import (
    DummyRegisterLayout,
    DummyTMemLayout,
    NoVerifyLayout,
    UserLayout,
    is_unverified,
)
from tilewright.dialects.tlx.layouts import (
    AssertSameLayoutExpectedOp,
    AssertSameLayoutOp,
    DumpLayoutOp,
    ReleaseLayoutOp,
    RequireLayoutOp,
)
from tilewright.dialects.tlx.placed import PlacedAliasOp
from tilewright.dialects.tlx.storage import (
    LocalAliasOp,
    ReuseGroupOp,
    SetBufferOverlapOp,
    StorageAliasLocalAllocOp,
    StorageAliasSpecOp,
    leaves_of,
)
from tilewright.dialects.tlx.types import (
    GROUP_KIND,
    STORAGE_KIND,
    ReuseGroupType,
    StorageAliasSpecType,
)

Tlx = dialect_of("tlx", globals())

__all__ = [
    "GROUP_KIND",
    "STORAGE_KIND",
    "AssertSameLayoutExpectedOp",
    "AssertSameLayoutOp",
    "DummyRegisterLayout",
    "DummyTMemLayout",
    "DumpLayoutOp",
    "LocalAliasOp",
    "NoVerifyLayout",
    "PlacedAliasOp",
    "ReleaseLayoutOp",
    "RequireLayoutOp",
    "ReuseGroupOp",
    "ReuseGroupType",
    "SetBufferOverlapOp",
    "StorageAliasLocalAllocOp",
    "StorageAliasSpecOp",
    "StorageAliasSpecType",
    "Tlx",
    "UserLayout",
    "is_unverified",
    "leaves_of",
]
