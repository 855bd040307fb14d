"""Walks a kernel of tasks without data, for `tlx-check-alias-sync`.

views      which bytes a buffer is
walk       control flow and integers: which ops a task reaches
rules      the effect of each op on memory, barriers and asynchronous units
report     findings as diagnostics
"""
