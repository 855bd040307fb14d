"""Walks a kernel of tasks without data, for `tlx-check-alias-sync`.

views      which bytes a buffer is
walk       control flow and numbers: which ops a task comes to
rules      what each op does to memory, barriers and engines
report     findings as diagnostics
"""
