"""Layouts: the register of a thread, or the address in memory, of each element.

Arithmetic only: independent of IR, and without imports from the rest of Tilewright;
every layout is a value whose properties are decided by looking at its bits or its elements.
"""
