"""``tilewright run``: a script with kernels, or a kernel as IR text, run on this machine."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.cli import execution

_USAGE = """\
usage: {program} [flags] FILE.py [arguments of the script]
       {program} [flags] FILE.ttir, FILE.mlir          ('-' is standard input)

Runs kernels on the CPU. A Python file is run like a script; every kernel it launches runs on the
NumPy target. IR text, on pointers or on tiles, gets its arguments from the command line.

  --stats               end with a table: launches, programs, batches, unbatched programs and why
  --batch N             run N programs at a time (1: sequentially)
  --traceback           show Python's traceback with an error

Python files
  --compat              redirect `import triton` and `import tilelang` to Tilewright, as
                        python -m tilewright.compat does
  --schedules N         run kernels with tasks or asynchronous operations N times, each in
                        another order of events; all results must be bit-identical (1)
  --jobs N, --cluster tcp://HOST:PORT, --log FILE
                        tune T kernels in N processes or on the workers of a Dask scheduler; the
                        log keeps results as JSON lines, and what it holds is not measured again
  --target TARGET       run T kernels on a model of the hardware, with all sanitizers:
                        hip:gfx942, cuda:sm_90a, ... (the code of every thread, as the passes for
                        that GPU make it), tenstorrent:wormhole, :blackhole, :sim
  --executor NAME       on Tenstorrent, ir (interprets the kernels, default) or source (compiles the
                        emitted C++ with g++)
  --numerics MODE       there, exact (fp32, default) or device (rounds as the hardware does)
  --report OUT.html     there, draw cores with their blocks, circular buffers in L1, the
                        timeline of a core and traffic; OUT.txt for text without the timeline.
  --set KEY=VALUE,...   there, settings of the compiler, which precede those of the kernels:
                        tt.multicast=on,tt.schedule.order=hilbert
                        These five are also accepted directly after FILE.py, --target first; of
                        GPUs --target hip:... is

IR text
  --arg NAME=SPEC       an argument; SPEC is one of
                          f32[1024]           an array: random floats, zeros for integers
                          f32[64,128]:FILL    FILL is zeros, ones, random, arange, empty or a value
                          i32:1000 or 1000    a scalar
  --args FILE.npz       arguments by name; --arg takes precedence
  --grid X[,Y[,Z]]      number of programs (1); most tile kernels compute their own
  --kernel NAME         kernel to run, if the file has several
  --seed N              seed of the random arrays (0)
  --out FILE.npz        write the arrays after the run

examples:
  {program} --stats examples/tl/softmax.py
  {program} --target tenstorrent:wormhole --report out.html examples/tile/gemm.py
  {program} add.ttir --grid 4 --arg 'x_ptr=f32[1000]' --arg 'y_ptr=f32[1000]:ones' \\
      --arg 'out_ptr=f32[1000]:empty' --arg n=1000 --out result.npz

Exit code: the script's; 1 if the input is wrong or a check fails.
"""


def run(arguments: Sequence[str], program: str) -> int:
    """Run the command with `arguments`; returns the exit code."""
    return execution.execute(arguments, program, _USAGE, checking=False)
