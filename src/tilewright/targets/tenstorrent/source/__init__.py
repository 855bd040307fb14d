"""The source executor: C++ kernels compiled against the shim headers and run on the host.

    run(program, {"a": pages, "b": pages}, RunOptions(seed=1)) -> RunResult

`toolchain` finds the compiler, `builds` compiles and caches, `job` describes a run to the machine,
`report` reads its findings, `executor` puts them together, `host` runs a whole `main.cpp`.
"""

from tilewright.targets.tenstorrent.source.executor import run
from tilewright.targets.tenstorrent.source.host import run_host
from tilewright.targets.tenstorrent.source.toolchain import SourceExecutorUnavailable

__all__ = ["SourceExecutorUnavailable", "run", "run_host"]
