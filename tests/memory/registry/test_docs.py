"""What docs/buffers.md shows is what happens: a plain block is what the code above it prints."""

import contextlib
import io
import re
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip(
    "numba", reason="allocators run in the simulator of numba-cuda, which is not installed"
)

from numba import cuda

PAGE = Path(__file__).parents[3] / "docs" / "buffers.md"


def blocks():
    """(language, body) of every fenced block."""
    pieces = re.split(r"^```(.*)\n", PAGE.read_text(), flags=re.MULTILINE)
    # prose, fence, body, closing fence, prose, ...
    return list(zip(pieces[1::4], pieces[2::4], strict=False))


def run(code, scope):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "buffers.md", "exec"), scope)
    return printed.getvalue()


def test_the_page():
    scope, before, printed, shown = {}, "", "", 0
    for language, body in blocks():
        if before == "python" and language == "":
            assert body == printed
            printed, shown = "", shown + 1
        assert printed == "", "printed and not shown"
        if language == "python":
            printed = run(body, scope)
        before = language
    assert printed == ""
    assert shown >= 6
    # The guards, on the device too.
    arm, check, canary = scope["arm"], scope["check"], scope["canary"]

    @cuda.jit
    def kernel(pool, persistent, report):
        arm(pool, persistent)
        pool[6] = pool[7] = 0
        check(pool, persistent, report)

    pool = np.zeros(scope["guarded"].shared_buffer_size(scope["step"]), np.float32)
    kernel[1, 1](pool, np.zeros(1, np.float32), scope["report"])
    assert [str(damage) for damage in canary.damage(scope["report"])] == [
        "shared[6:8]: 'k1' wrote 2 words past its end"
    ]


def test_names_on_the_page_exist():
    from tilewright import buffers
    from tilewright.memory.planner import problems

    known = {name for kind in vars(buffers).values() for name in dir(kind)} | set(dir(buffers))
    known |= set(dir(problems)) | {"allocate_buffer"}
    called = set(re.findall(r"`(?:\w+\.)?([a-z]+_[a-z_]+)\(", PAGE.read_text()))
    assert {"get_allocator", "get_child_allocators", "get_toplevel_allocators"} <= called
    assert called - known == set()


def test_files_on_the_page_exist():
    named = re.findall(r"`((?:examples|tests|scripts)/[\w/.]+)", PAGE.read_text())
    named += [f"docs/{page}" for page in re.findall(r"\]\((\w[\w-]*\.md)\)", PAGE.read_text())]
    assert len(named) >= 4
    assert [name for name in named if not (PAGE.parents[1] / name).is_file()] == []
