"""Asynchronous accesses are accesses, and what has no rule is listed as not analysed."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import tilewright as tw
from tests.analysis.pid_address.support import report_of
from tilewright import tl, tlx
from tilewright.analysis.pid_address import AccessKind, Pattern
from tilewright.analysis.pid_address.checks import CheckResult, run_checks
from tilewright.cli import main
from tilewright.report import address_json, address_text
from tilewright.report.address_document import Document


@tw.jit
def stores_tiles(x_ptr, M, N, ROW: tl.constexpr, COLUMN: tl.constexpr, REDUCE: tl.constexpr):
    desc = tl.make_tensor_descriptor(x_ptr, shape=[M, N], strides=[N, 1], block_shape=[16, 32])
    buffer = tlx.local_alloc((16, 32), tl.float32, 1)
    tile = tlx.local_view(buffer, 0)
    tlx.local_store(tile, tl.full((16, 32), 1.0, tl.float32))
    tlx.fence("async_shared")
    corner = [tl.program_id(0) * ROW, tl.program_id(1) * COLUMN]
    if REDUCE:
        tlx.async_descriptor_store(desc, tile, corner, store_reduce="add")
    else:
        tlx.async_descriptor_store(desc, tile, corner)
    tlx.async_descriptor_store_wait(0)


def stored(row: int, column: int, reduce: bool = False) -> tuple[AccessKind, CheckResult | None]:
    x = np.zeros((64, 64), np.float32)
    report = tw.analyze(
        stores_tiles,
        (x, 64, 64),
        grid=(4, 2),
        check=["race"],
        ROW=row,
        COLUMN=column,
        REDUCE=reduce,
    )
    [access] = report.accesses
    assert access.base == "%x_ptr"
    return access.kind, report.findings[0].verdict if report.findings else None


def test_programs_that_store_one_tile_are_a_race() -> None:
    assert stored(0, 0) == (AccessKind.STORE, CheckResult.REFUTED)


@pytest.mark.parametrize(
    ("row", "column", "verdict"),
    [
        (16, 32, CheckResult.PROVED),
        (16, 31, CheckResult.REFUTED),
        (15, 32, CheckResult.REFUTED),
        (17, 40, CheckResult.PROVED),
        (64, 64, CheckResult.PROVED),  # Tiles past the end are not stored at all.
        (0, 32, CheckResult.REFUTED),
    ],
)
def test_tiles_that_are_stored_by_descriptor(row: int, column: int, verdict: CheckResult) -> None:
    assert stored(row, column) == (AccessKind.STORE, verdict)


def test_a_reduction_is_atomic() -> None:
    assert stored(0, 0, reduce=True) == (AccessKind.ATOMIC, None)


SHARED = "#ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>"
HEADER = f"""
#shared = {SHARED}
#smem = #ttg.shared_memory
module attributes {{"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32}} {{
"""


def kernel(body: str, arguments: str = "%p: !tt.ptr<f32>, %n: i32") -> str:
    return f"""{HEADER}
    tt.func public @k({arguments}) {{
      %pid = tt.get_program_id x : i32
      {body}
      tt.return
    }}
    }}"""


BULK = """%c64 = arith.constant 64 : i32
      %bytes = arith.constant {bytes} : i32
      %first = arith.muli %pid, %c64 : i32
      %q = tt.addptr %p, %first : !tt.ptr<f32>, i32
      %buffer = ttg.local_alloc : () -> !ttg.memdesc<64xf32, #shared, #smem, mutable>
      ttng.async_store %buffer, %q, %bytes : !ttg.memdesc<64xf32, #shared, #smem, mutable>, !tt.ptr<f32>"""


@pytest.mark.parametrize(("size", "verdict"), [(256, "proved"), (128, "proved")])
def test_a_bulk_copy_writes_its_bytes(size: int, verdict: str) -> None:
    report = report_of(kernel(BULK.format(bytes=size)))
    [access] = report.accesses
    assert (access.kind, access.pattern) == (AccessKind.STORE, Pattern.AFFINE)
    assert access.masked == (size < 256)
    assert [f.verdict.value for f in run_checks(report, ["race"])] == [verdict]


def test_a_bulk_copy_that_is_longer_than_the_step_is_a_race() -> None:
    text = kernel(BULK.format(bytes=256)).replace("constant 64", "constant 63")
    [finding] = run_checks(report_of(text), ["race"])
    assert finding.verdict is CheckResult.REFUTED


# What has no rule.

FOREIGN = {
    "a tensor map is written": (
        """%c1 = arith.constant 1 : i32
      "ttng.tensormap_create"(%p, %p, %c1, %c1, %c1) <{elem_type = 7 : i32, fill_mode = 0 : i32,
        interleave_layout = 0 : i32, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 1>,
        swizzle_mode = 0 : i32}> : (!tt.ptr<f32>, !tt.ptr<f32>, i32, i32, i32) -> ()""",
        "ttng.tensormap_create",
        "it reads and writes global memory through %p, %p",
    ),
    "assembly with an address": (
        """%r = tt.elementwise_inline_asm "st.global.u32 [$1], 0;"
        {constraints = "=r,l", packed_element = 1 : i32, pure = false} %p : !tt.ptr<f32> -> i32""",
        "tt.elementwise_inline_asm",
        "it may access global memory through %p",
    ),
    "a function without a body": (
        "tt.call @elsewhere(%p) : (!tt.ptr<f32>) -> ()",
        "tt.call",
        "@elsewhere takes an address and has no body here",
    ),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_what_has_no_rule_is_listed(name: str) -> None:
    body, op, reason = FOREIGN[name]
    text = kernel(body)
    if "@elsewhere" in body:
        text = text.replace(
            "tt.func public", "tt.func private @elsewhere(!tt.ptr<f32>)\n    tt.func public"
        )
    report = report_of(text)
    assert report.accesses == ()
    [skipped] = report.not_analysed
    assert (skipped.op.split('"')[-1], skipped.reason) == (op, reason)
    findings = run_checks(report, ["race", "bounds", "vector"])
    assert [(f.check.value, f.verdict) for f in findings] == [
        ("race", CheckResult.UNKNOWN),
        ("bounds", CheckResult.UNKNOWN),
    ]
    document = Document(report, findings)
    assert "accesses no memory" not in address_text.render([document])
    assert f"not analysed: {op}" in address_text.render([document])
    [listed] = json.loads(address_json.render([document]))["not_analysed"]
    assert listed["reason"] == reason


HARMLESS = {
    "a prefetch": "ttng.prefetch %p : !tt.ptr<f32>",
    "a barrier": "gpu.barrier",
    "shared memory": "%b = ttg.local_alloc : () -> !ttg.memdesc<64xf32, #shared, #smem, mutable>",
}


@pytest.mark.parametrize("name", HARMLESS)
def test_what_accesses_no_global_memory_is_not_listed(name: str) -> None:
    report = report_of(kernel(HARMLESS[name]))
    assert report.accesses == ()
    assert report.not_analysed == ()


def test_the_exit_code_if_something_was_not_analysed(tmp_path: Path, capsys) -> None:
    file = tmp_path / "k.ttgir"
    file.write_text(kernel(FOREIGN["a tensor map is written"][0]))
    assert main.run(["analyze", "--check", "race", str(file)]) == 3
    out = capsys.readouterr().out
    assert "race: unknown (none): not analysed: ttng.tensormap_create at " in out
    file.write_text(kernel("%one = arith.constant 1.0 : f32\n tt.store %p, %one : !tt.ptr<f32>"))
    assert main.run(["analyze", "--check", "race", str(file)]) == 1
    assert main.run(["analyze", str(file)]) == 0
    capsys.readouterr()


@tw.jit
def specialised(x_ptr, out_ptr, STEP: tl.constexpr):
    first = tl.program_id(0) * STEP
    with tlx.async_tasks():
        with tlx.async_task("default"):
            offsets = first + tl.arange(0, 64)
            tl.store(out_ptr + offsets, tl.load(x_ptr + offsets))
        with tlx.async_task(num_warps=4):
            others = first + 64 + tl.arange(0, 64)
            tl.store(out_ptr + others, tl.load(x_ptr + others))


@pytest.mark.parametrize(("step", "verdicts"), [(128, {"proved"}), (127, {"proved", "refuted"})])
def test_every_task_of_a_warp_specialised_kernel_is_analysed(step: int, verdicts: set[str]) -> None:
    x = np.zeros(1024, np.float32)
    report = tw.analyze(specialised, (x, x.copy()), grid=(8,), check=["race"], STEP=step)
    assert [access.pattern for access in report.accesses] == [Pattern.AFFINE] * 4
    assert {finding.verdict.value for finding in report.findings} == verdicts
