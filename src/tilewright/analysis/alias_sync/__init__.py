"""A kernel of tasks without its data: the bytes that tasks access, and the barriers they wait for.

    symbolic_ints    integers that depend on arguments, and choices that make loops short
    argument_search  such choices where bounds cannot be solved
    machine          tasks, barriers and asynchronous units that drive the ordering checker

Nothing here depends on IR. `passes/tlx/alias_sync` walks a kernel and drives the machine.
"""
