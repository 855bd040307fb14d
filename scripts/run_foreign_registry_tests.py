"""Run CuBIE's own buffer-registry tests, unmodified, against `tilewright.buffers`.

    .venv/bin/python scripts/run_foreign_registry_tests.py [--stand-ins] CHECKOUT [PYTEST ARGUMENTS]

CHECKOUT is a folder with `tests/test_buffer_registry.py`: a clone or an unpacked source archive of
ccam80/cubie. `tilewright.buffers` is served as `cubie.buffer_registry` and numba-cuda runs in its
simulator, so no GPU is needed. Nothing is written into the checkout or the current folder.

Without `--stand-ins` the rest of `cubie` and the fixtures come from the checkout (`src/` and
`tests/conftest.py`), with what they import installed: its components then run on our registry.
With `--stand-ins` only the test file is used: `cubie` is an empty package around the registry, and
small components take the place of its integrators in the fixtures.
"""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from pathlib import Path
from types import ModuleType

SOURCE = Path(__file__).resolve().parents[1] / "src"
TESTS = Path("tests") / "test_buffer_registry.py"


def main(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help"):
        print(__doc__)
        return 0 if arguments else 2
    stand_ins = "--stand-ins" in arguments
    checkout, *extra = [argument for argument in arguments if argument != "--stand-ins"]
    root = Path(checkout).resolve()
    if not (root / TESTS).is_file():
        print(f"no {TESTS} in {root}", file=sys.stderr)
        return 2
    os.environ["NUMBA_ENABLE_CUDASIM"] = "1"
    sys.dont_write_bytecode = True
    sys.path[:0] = [str(SOURCE)] if stand_ins else [str(SOURCE), str(root / "src"), str(root)]
    serve(stand_ins)
    # cubie keeps the code it generates in the current folder.
    with tempfile.TemporaryDirectory() as scratch, contextlib.chdir(scratch):
        return run(root, stand_ins, extra)


def serve(stand_ins: bool) -> None:
    """Put our module where the tests, and the rest of cubie, look for theirs."""
    import tilewright.buffers

    if stand_ins:
        package = ModuleType("cubie")
        package.__path__ = []
        package.buffer_registry = tilewright.buffers
        sys.modules["cubie"] = package
    sys.modules["cubie.buffer_registry"] = tilewright.buffers


def run(root: Path, stand_ins: bool, extra: list[str]) -> int:
    import pytest

    # The checkout's own settings ask for plugins that these tests do not need.
    options = ["-c", os.devnull, f"--rootdir={root}", "-p", "no:cacheprovider"]
    options += ["-W", "ignore::pytest.PytestUnknownMarkWarning"]
    plugins: list[object] = []
    if stand_ins:
        options.append("--noconftest")
        plugins.append(stand_in_fixtures())
    return int(pytest.main([*options, *extra, str(root / TESTS)], plugins))


def stand_in_fixtures() -> object:
    """Fixtures of the names that the tests ask for, made of components with nothing but buffers."""
    import numpy as np
    import pytest

    from tilewright.buffers import buffer_registry

    class Component:
        precision = np.float32
        persistent_local_elements = 4

    class Run(Component):
        """loop > algorithm > newton > linear, each level with buffers and its child."""

        def __init__(self, settings: dict[str, str]) -> None:
            linear, newton, algorithm, loop = (Component() for _ in range(4))
            newton.linear_solver, algorithm.solver = linear, newton
            self._algo_step, self._loop = algorithm, loop
            self.settings = settings

        @property
        def device_function(self) -> object:
            algorithm, newton = self._algo_step, self._algo_step.solver
            linear = newton.linear_solver
            buffer_registry.register("preconditioned_vec", linear, 6, "local")
            buffer_registry.register("delta", newton, 3, "shared")
            buffer_registry.update(linear, self.settings)
            buffer_registry.register_child(newton, linear, "linear_solver")
            buffer_registry.register_child(algorithm, newton, "solver")
            return buffer_registry.get_child_allocators(self._loop, algorithm, "algorithm")

    class Fixtures:
        @pytest.fixture
        def solver_settings_override(self, request):
            return getattr(request, "param", {})

        @pytest.fixture
        def single_integrator_run(self, solver_settings_override):
            return Run(solver_settings_override)

        @pytest.fixture
        def step_controller(self):
            return Component()

        output_functions = step_controller
        solverkernel = step_controller

    return Fixtures()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
