"""Scripts that use torch: their GPU tensors are host memory, and they do not notice."""

from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.compat.test_scripts import compat

pytestmark = pytest.mark.skipif(
    find_spec("torch") is None,
    reason="torch, which these scripts import, is not installed: make torch",
)

SCRIPTS = Path(__file__).parent / "scripts_torch"
NOTICE = 'tilewright: the device "cuda" is the CPU here: tensors stay in host memory\n'


def test_the_device_cuda_is_host_memory():
    run = compat(str(SCRIPTS / "devices.py"))
    assert run.stdout == "all good\n", run.stderr
    assert run.stderr == NOTICE
    assert run.returncode == 0


def test_kernels_on_torch_tensors():
    run = compat(str(SCRIPTS / "kernels.py"))
    assert run.stdout == "all good\n", run.stderr
    assert run.stderr.count(NOTICE) == 1
    assert "copied" not in run.stderr
    assert run.returncode == 0


def test_tensors_stay_on_cuda_in_custom_operators_and_gradients():
    run = compat(str(SCRIPTS / "callbacks.py"))
    assert run.stdout == "all good\n", run.stderr
    assert run.stderr == NOTICE
    assert run.returncode == 0


def test_without_cuda_there_is_no_notice(tmp_path):
    script = tmp_path / "plain.py"
    script.write_text("import torch, triton\nprint(torch.ones(2).sum().item())\n")
    run = compat(str(script))
    assert (run.stdout, run.stderr, run.returncode) == ("2.0\n", "", 0)
