"""Storage aliasing in IR: from specs, groups and allocations to one allocation with views.

The arithmetic is done in ``tilewright.memory``, which knows bytes and no ops. Here is what connects
the two, in the order in which ``tlx-storage-alias-lowering`` uses it:

==============  ==========================================================================
``buffers``     what a memdesc type takes, and demands, of its memory
``legacy``      reuse of a plain buffer becomes a spec
``collect``     specs with their allocations, groups and overlap definitions
``liveness``    when each buffer is touched, for several overlap definitions
``planning``    steps 1 and 2: sizes and offsets, by ``memory.plan``
``carriers``    where an array of buffers travels, and what may not happen to it on the way
``indices``     an index becomes a slot
``materialise`` step 3: the allocation, the views, the new types and indices
``record``      what was promised and decided, written on the views
``recorded``    regions of a lowered module, told again from the records
``evidence``    a lowered module in the words of ``memory.checker``
``plain``       allocations outside of specs
``messages``    findings as diagnostics
``report``      what could be better
==============  ==========================================================================
"""
