"""What `docs/checking.md` shows is what the checks say; `--update-golden` writes it down again."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

from tests.test_docs import ROOT, blocks
from tilewright.analysis.ordering import TITLES
from tilewright.cli import check
from tilewright.passes.tlx.alias_sync.report import CODES, NOT_ANALYSED
from tilewright.targets.numpy.tasks.ordering import ORDERING_CODES
from tilewright.targets.numpy.tile.api import CODES as FAULT_CODES

PAGE = ROOT / "docs/checking.md"
_PAIR = re.compile(r"```diff\n(.*?)```\n\n```\n(.*?)```\n", re.DOTALL)
_STATIC = re.compile(r"(Without the wait for the store it reports\n\n```\n)(.*?)(```\n)", re.DOTALL)
_LAUNCH = "scale[(1,)]("


def _kernel() -> str:
    return next(block for block in blocks("docs/checking.md", "python") if "@tw.jit" in block)


def _changed(source: str, diff: str) -> str:
    """`source` with lines taken out and put in; a line without a mark says where."""
    before = "".join(line[1:] for line in diff.splitlines(True) if line[0] in " -")
    after = "".join(line[1:] for line in diff.splitlines(True) if line[0] in " +")
    if source.count(before) == 1:
        return source.replace(before, after)
    for line in diff.splitlines(True):  # lines that are apart
        if line[0] == "-":
            assert source.count(line[1:]) == 1, line
            source = source.replace(line[1:], "")
    kept = next(line[1:] for line in diff.splitlines(True) if line[0] == " ")
    new = "".join(line[1:] for line in diff.splitlines(True) if line[0] == "+")
    assert source.count(kept) == 1
    return source.replace(kept, new + kept)


def _first(output: str, folder: Path) -> str:
    """The first report of an output, with paths as seen from the script."""
    lines = output.replace(f"{folder}/", "").splitlines()
    starts = [i for i, line in enumerate(lines) if re.match(r"scale\.py:\d", line)]
    ends = [i for i, line in enumerate(lines) if i > starts[0] and re.match(r"\S", line)]
    return "\n".join(lines[starts[0] : ends[0] if ends else len(lines)]) + "\n"


def _updated(request: pytest.FixtureRequest, old: str, new: str) -> str:
    """`old`, or `new` if the page is to be written anew."""
    if request.config.getoption("--update-golden") and old != new:
        page = PAGE.read_text()
        assert page.count(old) == 1
        PAGE.write_text(page.replace(old, new))
        return new
    return old


def test_the_kernel_of_the_page_is_right(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("scale.py").write_text(_kernel())
    (command,) = [b for b in blocks("docs/checking.md", "") if b.startswith("tilewright check ")]
    assert check.run(command.split()[2:], "tilewright check") == 0
    (shown,) = blocks("docs/checking.md", "console")
    assert capfd.readouterr().err == shown
    assert "<svg" in Path("scale.html").read_text()


@pytest.mark.parametrize("number", range(len(_PAIR.findall(PAGE.read_text()))))
def test_each_change_is_reported_as_shown(
    number: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    request: pytest.FixtureRequest,
) -> None:
    monkeypatch.chdir(tmp_path)
    diff, shown = _PAIR.findall(PAGE.read_text())[number]
    Path("scale.py").write_text(_changed(_kernel(), diff))
    code = check.run(["scale.py"], "tilewright check")
    said = _first(capfd.readouterr().err, tmp_path)
    old, new = (f"```diff\n{diff}```\n\n```\n{text}```\n" for text in (shown, said))
    assert _updated(request, old, new) == new
    assert code == 1


def test_what_the_pass_says(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    wrong = "                tlx.async_descriptor_store_wait(0)\n"
    kernel, snippet = (b for b in blocks("docs/checking.md", "python"))
    assert kernel.count(wrong) == 1
    launch = kernel[kernel.index(_LAUNCH) :]
    source = kernel.replace(wrong, "").replace(launch, snippet.replace("print(", "said = ("))
    file = tmp_path / "scale.py"
    file.write_text(source)
    said = _first(runpy.run_path(str(file))["said"], tmp_path)
    page = PAGE.read_text()
    found = _STATIC.search(page)
    assert found is not None
    old, new = found[0], f"{found[1]}{said}{found[3]}"
    assert _updated(request, old, new) == new


_NEIGHBOURS = """\
import numpy as np

import tilewright as tw
from tilewright import tl, tlx


@tw.jit
def neighbours(x_ptr, out_ptr, BLOCK: tl.constexpr):
    here = tlx.local_alloc((BLOCK,), tl.float32, 1)
    rank = tlx.cluster_cta_rank()
    with tlx.async_tasks():
        with tlx.async_task("default"):
            arrived = tlx.alloc_barriers(1)
            tlx.barrier_expect_bytes(arrived[0], BLOCK * 4)
            offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
            value = tl.load(x_ptr + offsets)
            tlx.async_remote_shmem_store(here[0], value, rank ^ 1, arrived[0])
            tlx.barrier_wait(arrived[0], 0)
            tl.store(out_ptr + offsets, tlx.local_load(here[0]))
        with tlx.async_task(num_warps=4):
            pass


x = np.arange(64, dtype=np.float32)
neighbours[(2,)](x, np.empty_like(x), BLOCK=32, ctas_per_cga=(2, 1, 1))
"""
"""A barrier that is made in a task: the CTA beside it may be late."""
_NOT_SHARED = (
    ("    storage = tlx.storage_alias_spec(storage=tlx.storage_kind.smem)\n", ""),
    ("tl.float32, 2, reuse=storage)", "tl.float32, 2)"),
    ("tl.float16, 2, reuse=storage)", "tl.float16, 2)"),
    (
        "    storage.set_buffer_overlap(\n"
        "        tlx.reuse_group(tile, result, group_type=tlx.reuse_group_type.shared)\n"
        "    )\n",
        "",
    ),
)
_NOT_SHOWN: dict[str, tuple[tuple[str, str], ...] | str] = {
    "TW6122": (("tlx.barrier_arrive(empty[slot], 1)", "tlx.barrier_arrive(empty[slot], 2)"),),
    "TW6137": _NEIGHBOURS,
    "TW6140": (
        *_NOT_SHARED,
        ("scale[(1,)](*descriptors, 5,", "scale[(1,)](*descriptors, 2,"),
        ("tlx.local_load(tile[slot])", "tlx.local_load(tile[0])"),
    ),
}
"""Codes of the table without a section of their own: changes of the kernel, or another one."""


def _source(change: tuple[tuple[str, str], ...] | str) -> str:
    if isinstance(change, str):
        return change
    source = _kernel()
    for old, new in change:
        assert source.count(old) == 1, old
        source = source.replace(old, new)
    return source


@pytest.mark.parametrize("code", _NOT_SHOWN)
def test_codes_without_a_section_are_reported(
    code: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("scale.py").write_text(_source(_NOT_SHOWN[code]))
    assert check.run(["scale.py"], "tilewright check") == 1
    assert f"error[{code}]: " in _first(capfd.readouterr().err, tmp_path)


def test_the_codes_of_the_page() -> None:
    page = PAGE.read_text()
    listed = re.findall(r"^\| (TW\d+) \|", page, flags=re.MULTILINE)
    faults = (FAULT_CODES["deadlock"], FAULT_CODES["barrier"])
    assert sorted(listed) == sorted((*ORDERING_CODES.values(), *faults))
    as_cause = {
        code for kind, code in ORDERING_CODES.items() if f"most likely: {TITLES[kind]}: " in page
    }
    for code in listed:
        is_shown = f"error[{code}]: " in page or code in as_cause
        assert is_shown != (code in _NOT_SHOWN), f"{code} is on the page: does anything show it?"
    static = sorted(CODES.values())
    assert static == [f"TW{number}" for number in (*range(4060, 4069), 4070, 4071)]
    in_order = [kind for kind in CODES if kind not in ("stale", "unread")]
    assert [ORDERING_CODES[kind] for kind in in_order] == sorted(
        code for kind, code in ORDERING_CODES.items() if kind in in_order
    )
    for code in ("TW4060", "TW4068", NOT_ANALYSED, CODES["stale"], CODES["unread"]):
        assert code in page


def test_the_options_of_the_page() -> None:
    from dataclasses import fields

    from tilewright.passes.tlx.check_alias_sync import CheckAliasSync

    named = re.findall(r"^\| `([a-z-]+)=", PAGE.read_text(), flags=re.MULTILINE)
    assert sorted(named) == sorted(each.name.replace("_", "-") for each in fields(CheckAliasSync))
