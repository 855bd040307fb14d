"""``tilewright check``: run kernels with every check on, and fail on the first fault."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.cli import execution

_USAGE = """\
usage: {program} [flags] FILE.py [arguments of the script]
       {program} [flags] FILE.ttir          ('-' is standard input)

Runs kernels on the CPU as 'tilewright run' does, and reports what a GPU would not: accesses out of
bounds or misaligned, uses of values that were never written; in kernels of tl two programs that
write the same element; in kernels of T races between blocks and inside T.Parallel, integers that
are divided by zero, results with elements that no block writes, arguments that overlap, more shared
memory than a block has (of the kernel's target, else of sm_90a), bytes that have not arrived,
deadlocks. The text names the line, the program and the element; what could not be followed is
listed as not analysed. Every launch is checked; the last
line says how many there were.

In kernels with tlx tasks, barriers or asynchronous copies it compares orders, not times: two
accesses to the same bytes that no chain of arrivals and waits orders are reported, even if they
came in the right order, with both lines, the bytes, the missing order, the smallest fix and the
schedule. Buffers, and what copies bring, that nobody reads in any run are reported too: whoever
reads the wrong slot leaves the right one unread.

  --schedules N                                         as in 'tilewright run' (4)
  --timeline OUT.html                                   draw tasks, engines, barriers and buffers
                                                        of the first run, or of the one that failed
  --allow-unread                                        what nobody reads is a warning only
  --stats, --batch N, --traceback, --compat             as in 'tilewright run'
  --arg, --args, --grid, --kernel, --seed, --out        for IR text, as in 'tilewright run'

The first three may stand right behind FILE.py too; '--' ends them.

An array given as f32[1024]:empty counts as never written: reading it before a store is a fault.

examples:
  {program} examples/tl/softmax.py
  {program} --compat their_triton_script.py --size 1000
  {program} examples/tlx/hopper_gemm_ws.py --schedules 20 --timeline out.html
  {program} add.ttir --grid 4 --arg 'x_ptr=f32[1000]' --arg 'y_ptr=f32[1000]:ones' \\
      --arg 'out_ptr=f32[1000]:empty' --arg n=1000

Exit code: 1 if there was a fault or a report, if the input is wrong or if no kernel was launched;
else the script's.
"""


def run(arguments: Sequence[str], program: str) -> int:
    """Do what `arguments` say; returns the exit code."""
    return execution.execute(arguments, program, _USAGE, checking=True)
