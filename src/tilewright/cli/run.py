"""``tilewright run``: a script with kernels, or a kernel as IR text, run on this machine."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.cli import execution

_USAGE = """\
usage: {program} [flags] FILE.py [arguments of the script]
       {program} [flags] FILE.ttir          ('-' is standard input)

Runs kernels on the CPU. A Python file is run like a script; every kernel it launches runs on the
NumPy target. IR text gets its arguments from the command line.

  --stats               end with a table: launches, programs, batches, what ran one by one and why
  --batch N             run N programs at a time (1: one by one)
  --traceback           show Python's traceback with a fault

Python files
  --compat              take `import triton` and `import tilelang` for Tilewright, as
                        python -m tilewright.compat does
  --schedules N         run kernels with tasks or asynchronous parts N times, in different orders of
                        events; all must give the same bits (1)

IR text
  --arg NAME=SPEC       an argument; SPEC is one of
                          f32[1024]           an array: random floats, zeros for integers
                          f32[64,128]:FILL    FILL is zeros, ones, random, arange, empty or a number
                          i32:1000 or 1000    a number
  --args FILE.npz       arguments by name; --arg goes before
  --grid X[,Y[,Z]]      number of programs (1)
  --kernel NAME         which function, where there are several
  --seed N              of random numbers (0)
  --out FILE.npz        write the arrays after the run

examples:
  {program} --stats examples/tl/softmax.py
  {program} add.ttir --grid 4 --arg 'x_ptr=f32[1000]' --arg 'y_ptr=f32[1000]:ones' \\
      --arg 'out_ptr=f32[1000]:empty' --arg n=1000 --out result.npz

Exit code: the script's; 1 if the input is wrong or a kernel does what it must not.
"""


def run(arguments: Sequence[str], program: str) -> int:
    """Do what `arguments` say; returns the exit code."""
    return execution.execute(arguments, program, _USAGE, checking=False)
