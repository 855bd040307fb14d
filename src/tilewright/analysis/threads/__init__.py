"""Threads of a block: which values differ between them, and which elements each accesses."""
