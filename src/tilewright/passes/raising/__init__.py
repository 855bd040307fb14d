"""From pointers to tiles: preparation of a kernel, and one emitter for each kind of op.

    prepare        one function without calls and jumps
    builder        where new ops go, and their source locations
    symbols        polynomials of the address analysis as index arithmetic
    expressions    one element of a tensor value
    accesses       loads, stores and atomics
    groups         which ops share a ``tile.parallel``
    tiles          GEMMs, reductions, scans and other ops on whole tiles
    control        loops and branches
    function       parameters, views and grid

``passes/tile/raise_to_tile.py`` runs them; ``analysis/raising`` decides.
"""
