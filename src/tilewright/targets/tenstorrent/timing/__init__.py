"""An event-driven run of a program: kernels with clocks instead of data.

    timed = timed_run(artefact.program(), artefact.kernels, artefact.plan)
    timed.cycles, timed.core((0, 0)).reader.stalls

Every kernel advances its own clock by the cycles of the cost model's table; circular buffers, DST
sections, semaphores and the rate of DRAM make kernels wait for each other. No tile is read or
written, so that a result cannot depend on it. A model, not a measurement.
"""

from __future__ import annotations

from tilewright.targets.tenstorrent.timing.run import KernelTime, TimedRun, timed_run

__all__ = ["KernelTime", "TimedRun", "timed_run"]
