"""The registry of diagnostic codes (TWnnnn): what each one means, and how to fix it.

    10xx  languages and IR          50xx  shared memory, registers, storage aliasing
    20xx  layouts                   60xx  targets, launches, runs, compilation for GPUs
    30xx  instructions, races       90xx  internal compiler errors
    40xx  pipelining, barriers      70xx  Tenstorrent: layouts, intrinsics
    75xx  AMD GPUs                  71xx  Tenstorrent: checks of programs

``registry`` has all entries, which ``tilewright explain`` and docs/diagnostics.md show; one module
for each subject holds them, as data. A code that one module reports is a constant of that module;
``shared`` holds those that several packages report. Nothing here imports other packages.
"""
