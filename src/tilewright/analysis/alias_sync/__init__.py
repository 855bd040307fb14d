"""A kernel of tasks without its data: who touches which bytes, and who waits for whom.

    numbers    integers that may depend on arguments, and choices of arguments that make loops short
    search     such choices where bounds cannot be solved
    machine    tasks, barriers and engines that tell the ordering checker what they do

Nothing here knows IR. `passes/tlx/alias_sync` walks a kernel and drives the machine.
"""
