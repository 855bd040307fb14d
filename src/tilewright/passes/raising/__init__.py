"""From pointers to tiles: preparation of a kernel, and one emitter for each kind of op.

    prepare        one function without calls and jumps
    builder        where new ops go, and their source locations
    symbols        polynomials of the address analysis as index arithmetic
    expressions    one element of a tensor value
    scalar_ops     one element of an elementwise op; library: device functions
    addressing     indices of an access; accesses: loads, stores and atomics; rows: of descriptors
    regions        copies of whole boxes; moves: values into buffers
    groups         which ops share a ``tile.parallel``
    tiles          GEMMs, reductions, scans and other ops on whole tiles
    control        loops and branches
    block          the ops of a block, one rule for each kind
    host, function parameters, views and grid; local: views that the kernel makes

``passes/tile/raise_to_tile.py`` runs them; ``analysis/raising`` decides.
"""
