"""Generated code is meant to be read: source names, one op a line, its source position beside it."""

from __future__ import annotations

import re
from pathlib import Path

from tests.targets.numpy.kernels import compiled

CORPUS = Path(__file__).parents[2] / "corpus" / "ttir"

VECTOR_ADD = '''"""NumPy code of the kernel `vector_add`."""

import numpy as np

from tilewright.targets.numpy.support.integers import arange
from tilewright.targets.numpy.support.types import i32, i64

i32_1024 = i32(1024)                                                      # kernels.py:10
range_1024 = arange(0, 1024)                                              # kernels.py:10
x_bytes = range_1024.astype(i64) * 4                                      # kernels.py:12


def vector_add(rt, x_ptr, y_ptr, out_ptr, n_elements):
    store = rt.mem.store
    load = rt.mem.load
    pid = rt.program_id(0)                                                # kernels.py:9
    offs = pid * i32_1024                                                 # kernels.py:10
    offs_1 = offs[:, None]                                                # kernels.py:10
    offs_2 = offs_1 + range_1024                                          # kernels.py:10
    mask = offs_2 < n_elements                                            # kernels.py:11
    x_bytes_1 = offs_1.astype(i64) * 4                                    # kernels.py:12
    x = load(0, (x_ptr, x_bytes_1, x_bytes), (mask,), None)               # kernels.py:12
    y = load(1, (y_ptr, x_bytes_1, x_bytes), (mask,), None)               # kernels.py:13
    t = x + y                                                             # kernels.py:14
    store(2, (out_ptr, x_bytes_1, x_bytes), t, (mask,))                   # kernels.py:14
'''


def source(name: str) -> str:
    return compiled((CORPUS / f"{name}.ttir").read_text()).source


def test_vector_add() -> None:
    assert source("vector_add") == VECTOR_ADD


def test_the_same_ir_gives_the_same_text() -> None:
    text = (CORPUS / "flash_attn_fwd.ttir").read_text()
    compiled.cache_clear()
    first = compiled(text).source
    compiled.cache_clear()
    assert compiled(text).source == first


def test_every_statement_has_its_source_line() -> None:
    body = source("flash_attn_fwd").partition("def flash_attn_fwd")[2].splitlines()[3:]
    assert len(body) > 60
    assert all(re.search(r"  # \w+\.py:\d+$", line) for line in body if line)


def test_what_does_not_change_in_a_loop_is_before_it() -> None:
    text = source("matmul_grouped")
    before, _, loop = text.partition("    for ")
    assert "stride" in before
    inside = [line for line in loop.splitlines()[1:] if line.startswith("        ")]
    assert len([line for line in inside if "astype(i64)" in line]) == 0
    assert any("dot(" in line for line in inside)


def test_lines_are_mapped_to_source_positions() -> None:
    kernel = compiled((CORPUS / "vector_add.ttir").read_text())
    lines = kernel.source.splitlines()
    for number, location in kernel.generated.locations.items():
        place = lines[number - 1].rpartition("  # ")[2]
        assert str(location).count("kernels.py") >= 1
        assert place.startswith("kernels.py:")


def test_names_never_collide_with_the_supports_or_pythons() -> None:
    text = """tt.func public @kernel(%np: !tt.ptr<i32>, %lambda: i32, %grow: i32) {
  %pick = arith.addi %lambda, %grow : i32
  %i32 = tt.get_program_id x : i32
  %rt = arith.muli %pick, %i32 : i32
  %load = tt.addptr %np, %i32 : !tt.ptr<i32>, i32
  tt.store %load, %rt : !tt.ptr<i32>
  tt.return
}"""
    kernel = compiled(text)
    import numpy as np

    from tilewright.targets.numpy import Buffer

    out = np.zeros(4, np.int32)
    kernel.launch((4,), [Buffer("np", out), 2, 3])
    assert out.tolist() == [0, 5, 10, 15]
    assert "def kernel(rt, np_1, lambda_1, grow_1):" in kernel.source
