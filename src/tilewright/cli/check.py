"""``tilewright check``: run kernels with every check on, and fail on the first fault."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.cli import execution

_USAGE = """\
usage: {program} [flags] FILE.py [arguments of the script]
       {program} [flags] FILE.ttir          ('-' is standard input)

Runs kernels on the CPU as 'tilewright run' does, and reports what a GPU would not: out-of-bounds
and misaligned accesses, uninitialised reads; in tl kernels two programs that write the same
element; in T kernels data races between blocks and inside T.Parallel, integer division by zero,
results with elements that no block writes, overlapping arguments, more shared memory than the
target has (sm_90a if none is set), reads of bytes that are still in flight, deadlocks. A finding
has the source line, the program and the element; what could not be followed is listed as not
analysed. Every launch is checked; the last line is their count.

In kernels with tlx tasks, barriers or asynchronous copies the check is happens-before, not timing:
conflicting accesses that no chain of arrivals and waits orders are a data race, even if this run
performed them in the right order; the finding has both lines, the bytes, the missing order, the
smallest fix and the schedule. Buffers and copied data that no task reads in any run are reported
too: a task that reads the wrong slot leaves the right one unread.

  --schedules N                                         as in 'tilewright run' (4)
  --jobs N              run the schedules in N processes; the report is that of one process
  --cluster tcp://HOST:PORT                             run them on the workers of a Dask scheduler
  --log FILE            append their results to FILE as JSON lines; what it holds is not run again,
                        so that an interrupted check is resumed
  --timeline OUT.html                                   draw tasks, TMA, tensor cores, barriers and
                                                        buffers of the first or the failing run
  --sarif FILE          write what was reported as SARIF 2.1.0, for code review tools and editors
  --allow-unread                                        report unread data as a warning
  --stats, --batch N, --traceback, --compat             as in 'tilewright run'
  --target hip:gfx942, cuda:sm_90a, ...                 also run the code of every thread, as the
                                                        passes for that GPU make it: races, barriers
                                                        and bytes in flight under each schedule,
                                                        results compared with the kernel as written
  --target, --executor, --numerics, --report, --set     on Tenstorrent, as in 'tilewright run'
  --arg, --args, --grid, --kernel, --seed, --out        for IR text, as in 'tilewright run'

--schedules, --jobs, --cluster, --log, --timeline, --sarif, --allow-unread, --target hip:... and
--target tenstorrent:... are also accepted directly after FILE.py, the latter with --executor,
--numerics, --report and --set after it; '--' ends them.

An array passed as f32[1024]:empty is uninitialised: reading it before a store is an error.

examples:
  {program} examples/tl/softmax.py
  {program} --compat their_triton_script.py --size 1000
  {program} examples/tlx/hopper_gemm_ws.py --schedules 20 --timeline out.html
  {program} examples/tlx/hopper_gemm_ws.py --schedules 200 --jobs 8
  {program} --target hip:gfx942 examples/tile/gemm.py
  {program} --target tenstorrent:wormhole --schedules 20 examples/tile/gemm.py
  {program} add.ttir --grid 4 --arg 'x_ptr=f32[1000]' --arg 'y_ptr=f32[1000]:ones' \\
      --arg 'out_ptr=f32[1000]:empty' --arg n=1000

Exit code: 1 if something was reported, if the input is wrong or if no kernel was launched; else the
script's.
"""


def run(arguments: Sequence[str], program: str) -> int:
    """Run the command with `arguments`; returns the exit code."""
    return execution.execute(arguments, program, _USAGE, checking=True)
