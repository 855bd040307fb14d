"""What each op does to buffers, barriers and engines: one entry an op.

Accesses go to the checker with the *proxy* they take: `generic` for threads, `async` for copy
engines and the shared-memory side of matrix units, `tensor` for tensor memory. TMA and bulk copies
report bytes to a barrier, tcgen05 arrives on one, cp.async, wgmma and TMA stores are waited for in
groups.
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
