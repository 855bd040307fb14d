"""Passes on any IR: canonicalisation, common subexpressions, dead code, loop invariants."""
