"""What `run` and `check` do for a GPU target: the code of its threads is executed on the CPU.

`check` runs each kernel as written first, with the checks of that level, and prints how far the
results are apart.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from tilewright.cli.command_line import CommandLine, UsageError

if TYPE_CHECKING:
    from tilewright.runtime.tile.thread_level import ThreadRuns

TARGET = "target"
HIP, CUDA = "hip", "cuda"
_FOR_TENSTORRENT = ("executor", "numerics", "report", "set")


def has_threads(line: CommandLine) -> bool:
    """Whether the target of the command line is a GPU."""
    return line.values.get(TARGET, "").partition(":")[0] in (HIP, CUDA)


@contextmanager
def thread_target(line: CommandLine, *, compare: bool) -> Generator[ThreadRuns | None]:
    """Run the kernels of a script as the threads of a GPU, if the command line names one.

    Those of `tl` are raised to tiles for that.
    """
    if not has_threads(line):
        yield None
        return
    if not line.is_script:
        raise UsageError("--target applies to Python files only")
    for name in _FOR_TENSTORRENT:
        if name in line.values:
            raise UsageError(f"--{name} applies to --target tenstorrent:... only")
    # A run on the NumPy target needs none of it.
    from tilewright.runtime.options import running
    from tilewright.runtime.tile.forced_target import targeting
    from tilewright.runtime.tile.thread_level import running_threads

    with ExitStack() as stack:
        try:
            stack.enter_context(targeting(line.values[TARGET]))
            stack.enter_context(running(target=line.values[TARGET]))
        except ValueError as error:
            raise UsageError(str(error)) from None
        yield stack.enter_context(running_threads(compare=compare))


def summary(
    runs: ThreadRuns | None, target: str, *, has_failed: bool
) -> Iterator[tuple[str, bool]]:
    """A line for each kernel that was compared, and whether the tile level has the same results.

    Raises:
        UsageError: if a script without an error ran no kernel.
    """
    if runs is None:
        return
    if not runs.launches and not has_failed:
        raise UsageError(f"--target {target}: the script ran no kernel with arrays of the host")
    for name, launches in runs.launches.items() if runs.compare else ():
        yield f"{name}: {launches}", not launches.wrong
        for text in launches.wrong:
            yield f"{name}: {text}", False
