"""Where elements live: in which register of which thread, at which place in a memory.

Arithmetic only. Nothing here knows IR, and nothing here is imported from the rest of Tilewright;
every layout is a value whose properties are decided by looking at its bits or its elements.
"""
