"""Kernels of tasks: shared and tensor memory, barriers, asynchronous units, warp specialisation.

Programs run one cluster at a time, the tasks of its CTAs under a seeded schedule (`machine`).
Generated code is a generator for each task; everything it does to memory and barriers goes through
the runtime of its CTA (`support/runtime.py`), which notifies a `Recorder`.
"""
