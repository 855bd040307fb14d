"""The TTGIR example: what it prints is read here and by Triton, and the sharing it claims is real."""

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from tests.dialects.text_support import parse
from tilewright.buffers import BufferRegistry

FILE = Path(__file__).parents[3] / "examples" / "buffers" / "ttgir_step.py"


@pytest.fixture(scope="module")
def printed():
    def run(*flags):
        command = [sys.executable, str(FILE), *flags]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    return {flags: run(*flags) for flags in ((), ("--canary",))}


def test_what_it_shows(printed):
    assert printed[()].splitlines()[:4] == [
        "// shared        512  state[0,128) predictor_shared[128,512) corrector_shared[128,404)",
        "// persistent      0  predictor_persistent[0,0) corrector_persistent[0,0)",
        "// local           0",
        "// 512 bytes of shared memory, 788 without the order of calls",
    ]


@pytest.mark.parametrize("flags", [(), ("--canary",)])
def test_it_is_read_here(printed, flags):
    module = parse(printed[flags])
    module.verify()
    ops = [op.name for op in module.walk()]
    assert ops.count("ttg.local_alloc") == 1
    # Seven buffers and four regions, each with an allocator that the kernel calls.
    assert ops.count("tt.call") == 11 + (2 if flags else 0)
    assert ops.count("tt.func") == 12 + (2 if flags else 0)


@pytest.mark.parametrize("flags", [(), ("--canary",)])
def test_triton_needs_no_more_memory(printed, flags, tmp_path, monkeypatch):
    triton = pytest.importorskip("triton", reason="Triton is what has to accept it")
    from triton.backends.compiler import GPUTarget

    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("TRITON_DEFAULT_FP_FUSION", "1")
    file = tmp_path / "step.ttgir"
    file.write_text(printed[flags])
    built = triton.compile(str(file), target=GPUTarget("cuda", 90, 32), options={"num_warps": 4})
    size = int(re.match(r"// shared\s+(\d+)", printed[flags])[1])
    assert built.metadata.shared == size


def test_the_parts_share_and_the_rest_does_not():
    example = runpy.run_path(str(FILE))
    registry = BufferRegistry(policy="strict")
    parts = example["components"](registry)
    step = parts[0]
    registry.register_calls(step, ["predictor", "corrector"])
    registry.verify(step)
    at = registry.layouts(step).shared
    assert at["predictor_shared"].start == at["corrector_shared"].start
    assert at["state"].stop <= at["predictor_shared"].start
