"""Storage aliasing in IR: from specs, groups and allocations to one allocation with views.

The arithmetic is done in ``tilewright.memory``, which has bytes and no ops. These modules connect
the two, in the order in which ``tlx-storage-alias-lowering`` uses them:

==============  ==========================================================================
``buffers``     what a memdesc type takes, and demands, of its memory
``legacy``      reuse of a plain buffer becomes a spec
``collect``     specs with their allocations, groups and overlap definitions
``liveness``    the live range of each buffer, for several overlap definitions
``planning``    steps 1 and 2: sizes and offsets, by ``memory.plan``
``carriers``    where an array of buffers travels, and what is not allowed there
``indices``     an index becomes a slot
``materialise`` step 3: the allocation, the views, the new types and indices
``record``      the guarantees and the placement, written on the views
``recorded``    regions of a lowered module, rebuilt from the records
``evidence``    a lowered module as input of ``memory.checker``
``plain``       allocations outside of specs
``messages``    findings as diagnostics
``report``      what could be better
==============  ==========================================================================
"""
