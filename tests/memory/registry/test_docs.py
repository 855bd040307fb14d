"""What docs/buffers.md shows is what happens."""

import re
from pathlib import Path

import numpy as np
from numba import cuda

PAGE = Path(__file__).parents[3] / "docs" / "buffers.md"


def blocks(language):
    pieces = re.split(r"^```(.*)\n", PAGE.read_text(), flags=re.MULTILINE)
    return [
        body for found, body in zip(pieces[1::4], pieces[2::4], strict=False) if found == language
    ]


def test_the_page(capsys):
    layout, message = blocks("")
    scope = {}
    for code in blocks("python"):
        exec(compile(code, "buffers.md", "exec"), scope)
    assert capsys.readouterr().out == layout
    arm, check = scope["arm"], scope["check"]

    @cuda.jit
    def kernel(pool, persistent, report):
        arm(pool, persistent)
        pool[6] = pool[7] = 0
        check(pool, persistent, report)

    pool = np.zeros(scope["guarded"].shared_buffer_size(scope["step"]), np.float32)
    report = scope["report"]
    kernel[1, 1](pool, np.zeros(1, np.float32), report)
    assert [f"{damage}\n" for damage in scope["canary"].damage(report)] == [message]


def test_names_on_the_page_exist():
    from tilewright import buffers

    known = {name for kind in vars(buffers).values() for name in dir(kind)} | set(dir(buffers))
    called = set(re.findall(r"`(?:\w+\.)?([a-z]+_[a-z_]+)\(", PAGE.read_text()))
    assert {"get_allocator", "get_child_allocators", "get_toplevel_allocators"} <= called
    assert called - known - {"allocate_buffer"} == set()
