"""The effect of each op on buffers, barriers and asynchronous units: one entry per op.

Accesses go to the checker with their *proxy*: `generic` for threads, `async` for TMA and the
shared-memory side of tensor cores, `tensor` for tensor memory. TMA and bulk copies complete bytes
on a barrier, tcgen05 arrives on one, cp.async, wgmma and TMA stores are waited for in groups.
"""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.passes.tlx.alias_sync.rules import barriers, buffers, copies, mma
from tilewright.passes.tlx.alias_sync.walk import Rule

RULES: Mapping[str, Rule] = {
    **buffers.RULES,
    **barriers.RULES,
    **copies.RULES,
    **mma.RULES,
}
