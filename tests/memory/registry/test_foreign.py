"""The script that serves `tilewright.buffers` to another project's tests, on a checkout made here."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[3] / "scripts" / "run_foreign_registry_tests.py"

TESTS = """
import numpy as np
import pytest
import cubie.buffer_registry
from cubie.buffer_registry import BufferGroup, BufferRegistry, CUDABuffer, buffer_registry


def test_served():
    assert cubie.buffer_registry.__name__ == "tilewright.buffers"


def test_simulator():
    group = BufferGroup()
    group.register("a", 3, "shared")
    pool = np.ones(3, np.float32)
    group.get_allocator("a", zero=True)(pool, pool)
    assert pool.tolist() == [0, 0, 0]


@pytest.mark.parametrize("solver_settings_override", [{"preconditioned_vec_location": "shared"}], indirect=True)
def test_chain(single_integrator_run, step_controller, output_functions, solverkernel):
    assert single_integrator_run.device_function
    linear = single_integrator_run._algo_step.solver.linear_solver
    assert buffer_registry.shared_buffer_size(linear) == 6
    assert buffer_registry.shared_buffer_size(single_integrator_run._loop) == 9
    assert len({step_controller, output_functions, solverkernel}) == 3
"""


def run(*arguments):
    command = [sys.executable, str(SCRIPT), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def checkout(folder, tests):
    (folder / "tests").mkdir()
    (folder / "tests" / "test_buffer_registry.py").write_text(tests)
    # Neither of these may be loaded: only the test file is used with --stand-ins.
    (folder / "tests" / "conftest.py").write_text("raise AssertionError\n")
    (folder / "pyproject.toml").write_text('[tool.pytest.ini_options]\naddopts = "--no-such"\n')
    return folder


def test_stand_ins(tmp_path):
    pytest.importorskip("numba", reason="allocators are made by numba-cuda, which is not installed")
    done = run("--stand-ins", checkout(tmp_path, TESTS), "-q")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 passed" in done.stdout
    assert sorted(path.name for path in (tmp_path / "tests").iterdir()) == [
        "conftest.py",
        "test_buffer_registry.py",
    ]


def test_the_rest_of_the_package_comes_from_the_checkout(tmp_path):
    tests = "import cubie\n\ndef test_real(answer):\n    assert answer == cubie.SIZE == 5\n"
    folder = checkout(tmp_path, tests)
    (folder / "pyproject.toml").unlink()
    (folder / "src" / "cubie").mkdir(parents=True)
    (folder / "src" / "cubie" / "__init__.py").write_text(
        "from cubie.buffer_registry import BufferGroup\n"
        "group = BufferGroup()\ngroup.register('a', 5, 'shared')\nSIZE = group.shared_buffer_size()\n"
    )
    (folder / "tests" / "conftest.py").write_text(
        "import pytest, cubie\n\n@pytest.fixture\ndef answer():\n    return cubie.SIZE\n"
    )
    done = run(folder, "-q")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout


def test_a_failing_test_fails_the_run(tmp_path):
    done = run("--stand-ins", checkout(tmp_path, "def test_no():\n    assert False\n"), "-q")
    assert done.returncode == 1
    assert "1 failed" in done.stdout


def test_a_folder_without_the_tests_is_refused(tmp_path):
    done = run(tmp_path)
    assert done.returncode == 2
    assert "test_buffer_registry.py" in done.stderr
    assert run("--help").stdout.startswith("Run CuBIE's own buffer-registry tests")
