"""What notebooks show of kernels, plans, reports and errors: complete, escaped, on any background."""

from __future__ import annotations

import importlib
import pickle
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.memory.support import planned, raw
from tests.report.notebook.pieces import Outline, cells
from tilewright import T, tl, tlx
from tilewright._notebook import NotebookForm
from tilewright.memory import Memory, StoragePlan, shared
from tilewright.report.notebook import html as pieces
from tilewright.targets.numpy.api import NumpyFault


@tw.jit
def add(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.load(x_ptr + i, mask=i < n) + 1, mask=i < n)


@tw.jit
def double(A, B):
    M = T.const("M")
    A: T.Tensor((M,), "float32")
    B: T.Tensor((M,), "float32")
    with T.Kernel(1, threads=32):
        S = T.alloc_shared((64,), "float32")
        for i in T.serial(M):
            S[0] = A[i]
            B[i] = S[0] * 2


@tw.jit
def scale(x_desc, y_desc, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    tile = tlx.local_alloc((ROWS, COLUMNS), tl.float32, 1)
    full = tlx.alloc_barriers(num_barriers=1, arrive_count=1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.barrier_expect_bytes(full[0], ROWS * COLUMNS * 4)
            tlx.async_descriptor_load(x_desc, tile[0], [0, 0], full[0])
        with tlx.async_task(num_warps=4):
            value = tlx.local_load(tile[0])
            tlx.local_store(tile[0], value * 0.5)
            tlx.fence("async_shared")
            tlx.async_descriptor_store(y_desc, tile[0], [0, 0])
            tlx.async_descriptor_store_wait(0)


def launched() -> Any:
    return add[(2,)](np.ones(100, np.float32), np.zeros(100, np.float32), 100, BLOCK=64)


def fault() -> NumpyFault:
    with pytest.raises(NumpyFault) as caught:
        add[(2,)](np.ones(100, np.float32), np.zeros(90, np.float32), 100, BLOCK=64)
    return caught.value


def unordered() -> NumpyFault:
    from tilewright.runtime.options import running
    from tilewright.targets.numpy.tasks.ordering import OrderingLog

    x, y = (np.zeros((16, 32), np.float32) for _ in range(2))
    descriptors = [tw.TensorDescriptor.from_tensor(array, [16, 32]) for array in (x, y)]
    with running(recorder=OrderingLog().recorder), pytest.raises(NumpyFault) as caught:
        scale[(1,)](*descriptors, ROWS=16, COLUMNS=32)
    return caught.value


def compile_error() -> tw.CompileError:
    with pytest.raises(tw.CompileError) as caught:
        add[(2,)](np.ones(100, np.float32), np.zeros(100, np.float32), 100, BLOCK=63)
    return caught.value


def plan() -> StoragePlan:
    angry = raw('<b>&"x"', Memory.SMEM, 2, 128, source="k.py:3")
    calm = raw("calm", Memory.SMEM, 2, 64, source="k.py:4")
    return planned(shared(angry, calm))


FORMS: dict[str, Callable[[], Any]] = {
    "JITFunction": lambda: (launched(), add)[1],
    "CompiledKernel": launched,
    "TileJIT": lambda: (double.compile(M=64), double)[1],
    "CompiledTileKernel": lambda: double.compile(M=64),
    "AddressReport": lambda: tw.analyze(
        add,
        (np.ones(100, np.float32), np.zeros(100, np.float32), 100),
        (2,),
        BLOCK=64,
        check=("all",),
    ),
    "KernelMemory": lambda: tw.memory_map(double.compile(M=64), target="cuda:sm_90a"),
    "StoragePlan": plan,
    "NumpyFault": fault,
    "OrderingFault": unordered,
    "CompileError": compile_error,
}


@pytest.mark.parametrize("name", FORMS)
def test_html_is_well_formed_and_changes_nothing_else_on_the_page(name: str) -> None:
    value = FORMS[name]()
    assert isinstance(value, NotebookForm)
    outline = Outline(value._repr_html_())
    assert not {"script", "iframe", "html", "body", "link"} & set(outline.tags)
    assert not [value for key, value in outline.attributes if key in ("src", "href")]
    selectors = [
        selector.strip()
        for style in outline.styles
        for rule in re.findall(r"([^{}]+)\{", style)
        for selector in rule.split(",")
    ]
    assert selectors
    assert [each for each in selectors if not each.startswith(".tilewright")] == []


@pytest.mark.parametrize("name", FORMS)
def test_text_has_the_colours_of_the_page_or_both_of_its_own(name: str) -> None:
    """On a dark background as on a light one."""
    outline = Outline(FORMS[name]()._repr_html_())
    assert not [value for key, value in outline.attributes if key in ("style", "bgcolor", "color")]
    rules = dict(re.findall(r"([^{}]+)\{([^{}]*)\}", outline.styles[0]))
    declared = {key.strip(): value for key, value in rules.items()}
    assert "color: inherit; background: transparent" in declared[".tilewright"]
    panel = declared[".tilewright .panel"]
    assert "background: #ffffff; color: #1a1a1a" in panel
    for selector, declarations in declared.items():
        if selector.startswith(".tilewright .panel"):
            continue
        found = re.findall(r"(?:^|[ ;])(?:color|background): ([^;]+)", declarations)
        assert set(found) <= {
            "inherit",
            "transparent",
            *pieces.SEVERITY_COLOURS.values(),
            pieces.MARK_COLOUR,
        }


def _luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("background", ["#ffffff", "#111111"])
def test_colours_have_contrast(background: str) -> None:
    """At least 3 to 1, as WCAG requires of bold text."""
    for colour in (*pieces.SEVERITY_COLOURS.values(), pieces.MARK_COLOUR):
        one, other = sorted((_luminance(colour), _luminance(background)))
        assert (other + 0.05) / (one + 0.05) >= 3.9


@pytest.mark.parametrize("name", FORMS)
def test_forms_are_named_by_classes(name: str) -> None:
    module, _, function = FORMS[name]().notebook_form.partition(":")
    assert callable(getattr(importlib.import_module(module), function))


# -- what is in them -------------------------------------------------------------------------------


def test_a_kernel_lists_what_was_compiled_and_its_source() -> None:
    launched()
    text = add._repr_html_()
    assert cells(text)[0] == ["compiled for", "target", "options"]
    assert [
        "x_ptr: *fp32, out_ptr: *fp32, n: i32, BLOCK=64",
        "numpy (cuda:90)",
        "num_warps=4, num_ctas=1, num_stages=3",
    ] in cells(text)
    outline = Outline(text)
    assert f"test_forms.py:{add.first_line}" in outline.text
    assert (
        f"{add.first_line + 2}      i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
        in outline.text
    )
    assert "mask=i < n) + 1" in outline.text
    assert "mask=i < n" not in text
    assert "mask=i &lt; n" in text


def test_a_kernel_that_was_not_launched_says_so() -> None:
    @tw.jit
    def fresh(x_ptr):
        tl.store(x_ptr, 1)

    assert "nothing is compiled yet" in Outline(fresh._repr_html_()).text


def test_a_kernel_without_source_says_what_to_do() -> None:
    names: dict[str, Any] = {"tw": tw}
    exec(compile("\n".join(["@tw.jit", "def lost(n):", "    pass"]), "<stdin>", "exec"), names)
    assert "standard input is a pipe" in Outline(names["lost"]._repr_html_()).text


def test_a_compiled_kernel_lists_its_parameters_and_its_run() -> None:
    compiled = launched()
    assert cells(compiled._repr_html_()) == [
        ["parameter", "type"],
        ["x_ptr", "*fp32"],
        ["out_ptr", "*fp32"],
        ["n", "i32"],
        ["BLOCK", "constexpr = 64"],
    ]
    assert "last run on the CPU: 2 programs" in Outline(compiled._repr_html_()).text


def test_tile_kernels_list_their_tensors() -> None:
    compiled = double.compile(M=64)
    assert ["A: float32[64], B: float32[64]", "numpy", ""] in cells(double._repr_html_())
    assert cells(compiled._repr_html_()) == [
        ["parameter", "type", ""],
        ["A", "float32[64]", ""],
        ["B", "float32[64]", ""],
    ]
    assert "S[0] = A[i]" in Outline(compiled._repr_html_()).text


def test_a_plan_has_a_diagram_and_a_table() -> None:
    text = plan()._repr_html_()
    assert text.count("<svg") == 1
    assert "<b>" not in text
    rows = cells(text)
    assert rows[0] == ["region", "buffer", "index", "where", "source", "path"]
    assert [row[1:5] for row in rows[1:]] == [
        ['<b>&"x"', "0", "0..128 bytes", "k.py:3"],
        ['<b>&"x"', "1", "128..256 bytes", "k.py:3"],
        ["calm", "0", "0..64 bytes", "k.py:4"],
        ["calm", "1", "128..192 bytes", "k.py:4"],
    ]


def test_a_report_has_a_row_for_each_access_and_the_findings() -> None:
    report = FORMS["AddressReport"]()
    rows = cells(report._repr_html_())
    assert [row[1] for row in rows[1:]] == ["tt.load", "tt.store"]
    assert [row[4:9] for row in rows[1:]] == [["PID_AFFINE", "0: 256", "64", "yes", "128 bits"]] * 2
    text = Outline(report._repr_html_()).text
    assert "bounds: proved (intervals): %8 (load) stays inside %x_ptr (400 of 400 bytes)" in text


def test_a_fault_shows_its_message_and_the_title_of_its_code() -> None:
    error = fault()
    text = error._repr_html_()
    outline = Outline(text)
    assert str(error) in outline.text
    assert ("title", "Access out of bounds") in outline.attributes
    assert '<span class="mark">^~~~' in text
    assert text.count('<span class="note">note:</span>') == 3


def test_a_data_race_shows_both_accesses_and_the_bytes_they_share() -> None:
    error = unordered()
    rows = cells(error._repr_html_())
    line = add.first_line  # of this file, as all lines below
    assert rows[0] == ["buffer", "access", "iteration", "line"]
    assert rows[1][:3] == ["tile[0]", "the TMA load into tile[0], issued by default", "0"]
    assert rows[2][:3] == ["tile[0]", "read of tile[0] by partition0", "0"]
    assert [row[3].partition(":")[0] for row in rows[1:3]] == ["test_forms.py"] * 2
    assert all(int(row[3].partition(":")[2]) > line for row in rows[1:3])
    text = Outline(error._repr_html_()).text
    assert "missing wait: 2048 bytes in common" in text
    assert "missing: partition0 does not wait for the phase of full[0] that orders them" in text


def test_a_traceback_is_the_message_and_the_line_of_the_launch() -> None:
    error = fault()
    plain = [re.sub("\x1b\\[[0-9;]*m", "", line) for line in error._render_traceback_()]
    assert re.fullmatch(r"MemoryFault at .*test_forms\.py:\d+", plain[0])
    assert "\n".join(plain[1:]) == str(error)
    assert error._render_traceback_() != plain


def test_errors_of_pythons_own_classes_too() -> None:
    with pytest.raises(TypeError) as caught:
        add[(2,)](1)
    copy = pickle.loads(pickle.dumps(caught.value))
    for error in (caught.value, copy):
        lines = error._render_traceback_()
        assert lines[0] == "\x1b[1;31mTypeError\x1b[0m"
        assert re.sub("\x1b\\[[0-9;]*m", "", "\n".join(lines[1:])) == str(error)
