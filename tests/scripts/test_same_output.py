"""`scripts/same_output.py`: equal trees are equal, and every change shows in its stage."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from xdsl.dialects.builtin import UnitAttr

from scripts.same_output import stages, subjects, tile_cases
from scripts.same_output.command import main
from scripts.same_output.comparing import Comparison, compare, report, rewordings
from scripts.same_output.recording import Recording, record
from scripts.same_output.text import (
    CODE,
    COMMENTS,
    MESSAGES,
    Renames,
    cuda_parts,
    in_any_order,
    ir_parts,
    plan_parts,
    python_parts,
)
from tilewright.ir.diagnostics import Diagnostic, DiagnosticEngine, Severity, SourcePosition
from tilewright.passes.gpu.merge_guards import MergeGuards

ADD = "tile/elementwise_add.add@sm_90a"
REFUSED = "text-test/tests/lit/passes/gpu/insert-expect-tx-errors.mlir"
SMALL = (
    ADD,
    REFUSED,
    "tile/elementwise_add.add@numpy",
    "tl/vector_add",
    "file/tests/corpus/ttir/vector_add.ttir",
    "mistake/cases/add_shapes.py",
    "fuzz-tile/0",
    "fuzz-tl/25",
)

Compared = Callable[[str, Callable[[], None]], Comparison]


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    return record(tmp_path_factory.mktemp("before") / "before.json", SMALL, "all")


@pytest.fixture
def compared(tmp_path: Path, before: Recording) -> Compared:
    """One case before and after a change."""

    def around(case: str, change: Callable[[], None]) -> Comparison:
        change()
        return compare(before, record(tmp_path / "after.json", [case], "one"), Renames())

    return around


def test_the_same_tree_gives_the_same_digests(tmp_path: Path, before: Recording) -> None:
    again = record(tmp_path / "again.json", SMALL, "all")
    assert again.path.read_text() == before.path.read_text()
    found = compare(Recording.read(before.path), again, Renames())
    assert found.is_equal(strict=True)
    assert report(found) == f"{len(SMALL)} cases compared, 0 differ\n"


def test_stages_are_those_that_a_case_goes_through(before: Recording) -> None:
    tile, tl = ([stage for stage, _ in before.cases[name]] for name in (ADD, "tl/vector_add"))
    assert tile[0] == "gpu/00-input"
    assert {"cuda/add_kernel", "cuda/host-steps", "memory-plan", "gpu/diagnostics"} <= {*tile}
    assert sum(stage.startswith("gpu/") and "-cse" in stage for stage in tile) > 1
    assert {"add_kernel/numpy", "add_kernel/sm_90/for-triton"} <= {*tl}
    assert not [stage for stage in (*tile, *tl) if "raised" in stage]
    texts = before.stages(ADD)
    assert texts is not None
    assert "__global__" in texts["cuda/add_kernel"][CODE]


def test_a_changed_pass_is_named(compared: Compared, monkeypatch: pytest.MonkeyPatch) -> None:
    run = MergeGuards.run

    def changed(self: MergeGuards, module, engine) -> None:
        run(self, module, engine)
        for op in list(module.body.ops):
            op.attributes["changed"] = UnitAttr()

    found = compared(ADD, lambda: monkeypatch.setattr(MergeGuards, "run", changed))
    assert found.in_code[0].stage.endswith("-merge-guards")
    text = report(found)
    assert text.startswith("gpu/merge-guards differs in 1 cases: tile/elementwise_add.add@sm_90a\n")
    assert "+" in text and "changed" in text
    assert not found.is_equal()


def _emitting(old: str, new: str) -> Callable[[object], object]:
    emit = tile_cases.emit_kernel

    def emitted(function):
        source = emit(function)
        return type(source)(
            source.name, source.text.replace(old, new), source.threads, source.shared_bytes
        )

    return emitted


def test_a_changed_emitter_is_named(compared: Compared, monkeypatch: pytest.MonkeyPatch) -> None:
    emitted = _emitting("threadIdx.x", "threadIdx.y")
    found = compared(ADD, lambda: monkeypatch.setattr(tile_cases, "emit_kernel", emitted))
    assert [(each.stage, each.part) for each in found.differences] == [("cuda/add_kernel", CODE)]


def test_a_changed_comment_is_counted(compared: Compared, monkeypatch: pytest.MonkeyPatch) -> None:
    emitted = _emitting("{\n", "{ // begins\n")
    found = compared(ADD, lambda: monkeypatch.setattr(tile_cases, "emit_kernel", emitted))
    assert found.is_equal()
    assert not found.is_equal(strict=True)
    assert report(found).endswith("0 differ\ncomments changed: 1 (in 1 cases)\n")


def test_a_reworded_message_is_counted(compared: Compared, monkeypatch: pytest.MonkeyPatch) -> None:
    error = DiagnosticEngine.error

    def reworded(self, where, message, code=None):
        return error(self, where, message.upper(), code)

    found = compared(REFUSED, lambda: monkeypatch.setattr(DiagnosticEngine, "error", reworded))
    assert found.is_equal()
    assert [each.part for each in found.differences] == [MESSAGES]
    assert report(found) == "1 cases compared, 0 differ\nmessages reworded: 1 (in 1 cases)\n"
    for before, after in rewordings(found):
        assert before != after and before.upper() == after.upper()


def test_another_code_is_a_difference(compared: Compared, monkeypatch: pytest.MonkeyPatch) -> None:
    error = DiagnosticEngine.error

    def other(self, where, message, code=None):
        return error(self, where, message, "TW0000")

    found = compared(REFUSED, lambda: monkeypatch.setattr(DiagnosticEngine, "error", other))
    assert [each.part for each in found.in_code] == [CODE]


def test_a_map_hides_renamed_attributes_and_passes(
    compared: Compared, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    print_before = stages.print_module

    def renamed(module) -> str:
        return print_before(module).replace("simt.threads", "aa.block_threads")

    def change() -> None:
        monkeypatch.setattr(stages, "print_module", renamed)
        monkeypatch.setattr(MergeGuards, "name", "join-guards")

    found = compared(ADD, change)
    assert found.in_code
    table = tmp_path / "names"
    table.write_text("# what changed\nsimt.threads aa.block_threads\nmerge-guards join-guards\n")
    assert compare(found.before, found.after, Renames.read(table)).is_equal()


def test_a_case_that_raises_is_recorded(
    compared: Compared, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: object) -> None:
        raise KeyError("a name")

    found = compared(ADD, lambda: monkeypatch.setattr(MergeGuards, "run", failing))
    new = [each.stage for each in found.in_code if each.what == "is new"]
    assert new == ["case/raised"]


# -- the command line ----------------------------------------------------------------------------


def _record(path: Path, *more: str) -> int:
    return main(["record", str(path), "--only", "tl/vector_add", "--jobs", "1", *more])


def test_exit_codes_and_texts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before, after = tmp_path / "before.json", tmp_path / "after.json"
    assert _record(before) == 0
    assert main(["against", str(before), "--jobs", "1"]) == 0
    print_before = stages.print_module
    monkeypatch.setattr(stages, "print_module", lambda m: print_before(m) + "// more\n")
    assert _record(after) == 0
    capsys.readouterr()
    assert main(["compare", str(before), str(after)]) == 1
    assert "    +// more" in capsys.readouterr().out
    shown = ["--show", "tl/vector_add", "add_kernel/clean-up/00-input"]
    assert main(["compare", str(before), str(after), *shown]) == 1
    assert capsys.readouterr().out.endswith("+// more\n")
    assert _record(after, "--no-texts") == 0
    assert main(["compare", str(before), str(after)]) == 1
    assert "no texts were recorded" in capsys.readouterr().out


def test_errors_state_what_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["record", str(tmp_path / "a.json"), "--only", "tiles"]) == 2
    assert main(["against", "no-such-revision"]) == 2
    (tmp_path / "b.json").write_text("{}")
    assert main(["compare", str(tmp_path / "b.json"), str(tmp_path / "b.json")]) == 2
    first, *_, last = capsys.readouterr().err.splitlines()
    assert first.endswith("no case matches 'tiles'")
    assert last.endswith("is no recording of this version: record it again")


def test_cases_are_chosen_by_name_seed_and_number() -> None:
    def names(*only: str, seeds: range = range(300), sample: int | None = None) -> Sequence[str]:
        return subjects.Selection(only, seeds, sample).names()

    assert len(names("fuzz-tile")) == 300
    assert names("fuzz-*", seeds=range(4, 7)) == [
        "fuzz-tile/4",
        "fuzz-tile/5",
        "fuzz-tile/6",
        "fuzz-tl/4",
    ]
    assert names("fuzz-tile", sample=3) == ["fuzz-tile/0", "fuzz-tile/100", "fuzz-tile/200"]
    assert {name.partition("/")[0] for name in names(sample=1)} == {*subjects.RUNS}
    assert all(ADD in names(pattern) for pattern in ("tile", "tile/elem*", ADD))


# -- texts ---------------------------------------------------------------------------------------


def test_comments_are_taken_apart() -> None:
    cuda = 'int a = 1; // one\n/* two\n lines */\nasm("// no comment");\n'
    assert cuda_parts(cuda) == {
        CODE: 'int a = 1;\nasm("// no comment");\n',
        COMMENTS: "// one\n/* two\n lines */",
    }
    python = '"""Of a kernel."""\n\ndef f(x):  # one\n    """Two\n    lines."""\n    # three\n    return "# no comment"\n'
    assert python_parts(python) == {
        CODE: 'def f(x):\n    return "# no comment"\n',
        COMMENTS: '"""Of a kernel."""\n# one\n"""Two\n    lines."""\n# three',
    }


def test_sentences_in_ir_are_taken_apart() -> None:
    text = 'tile.assume %0, "a block lies in the grid" {asm = "bar.sync $0, $1; mov"}'
    assert ir_parts(text) == {
        CODE: 'tile.assume %0, "…" {asm = "bar.sync $0, $1; mov"}',
        MESSAGES: "a block lies in the grid",
    }
    assert ir_parts('#a = "two words"') == {CODE: '#a = "two words"'}


def test_sentences_of_a_plan_are_taken_apart() -> None:
    parts = plan_parts('{"regions": [{"source": "a.py:12", "notes": ["too large"], "used": 8}]}')
    assert parts[MESSAGES] == "too large"
    assert "12" not in parts[CODE] and '"used": 8' in parts[CODE]


def test_names_are_replaced_where_they_stand_alone() -> None:
    renames = Renames([("tile.old", "tile.iteration"), ("a-pass", "b-pass")])
    assert renames("gpu/07-a-pass.failed") == "gpu/07-b-pass.failed"
    assert renames("tile.olds tile.old, a-pass a-pass-2") == (
        "tile.olds tile.iteration, b-pass a-pass-2"
    )
    split = Renames([("TW6002", "TW6002"), ("TW6002", "TW6008")])
    assert split("error TW6002") == split.joined("error TW6008") == "error TW6002"
    assert split("error TW6003") == "error TW6003"
    assert in_any_order("{b = 1, c = 2}") == in_any_order("{c = 2, b = 1}")
    moved = (
        "from tilewright.a import x\nfrom tilewright.b import y\n",
        "from tilewright.b import y\nfrom tilewright.a import x\n",
    )
    assert in_any_order(moved[0]) == in_any_order(moved[1])
    assert in_any_order("{b = 1}") != in_any_order("{b = 2}")


def test_lost_cases_are_differences_and_new_ones_are_not(tmp_path: Path) -> None:
    both, one = ["mistake/cases/add_shapes.py", REFUSED], [REFUSED]
    many, few = (record(tmp_path / f"{len(each)}.json", each, "") for each in (both, one))
    lost = compare(many, few, Renames())
    assert not lost.is_equal()
    assert report(lost).startswith("1 cases are gone: mistake/cases/add_shapes.py\n")
    assert compare(few, many, Renames()).is_equal()


def test_a_new_pass_moves_no_other(tmp_path: Path) -> None:
    """Passes after it have other numbers, and are compared with what they were."""

    def recording(name: str, *stages: str) -> Recording:
        digests = [(stage, {"code": stage.rpartition("-")[2]}) for stage in stages]
        return Recording(tmp_path / name, "", {"tile/k": digests})

    names = ("gpu/01-cse", "gpu/02-fold", "gpu/03-cse", "cuda/k")
    before = recording("before", *names)
    after = recording("after", *names[:1], "gpu/02-check", "gpu/03-fold", "gpu/04-cse", "cuda/k")
    found = compare(before, after, Renames())
    assert [(each.stage, each.what) for each in found.differences] == [("gpu/02-check", "is new")]
    assert compare(before, after, Renames(), ["cuda/*"]).is_equal()
    changed = recording("changed", *names[:3], "cuda/other-k")
    assert not compare(before, changed, Renames(), ["cuda/*"]).is_equal()


def test_a_location_stays_while_lines_and_comments_move(tmp_path: Path) -> None:
    def location(text: str, line: int) -> str:
        path = tmp_path / f"{len(text)}" / "kernel.mlir"
        path.parent.mkdir()
        path.write_text(text)
        found = stages.Stages()
        where = SourcePosition(str(path), line, 3)
        found.diagnostics("a", [Diagnostic(Severity.ERROR, "wrong", where, "TW1234")])
        return found.found["a"][CODE]

    first = location("  foo.op\n  foo.op // expected-error {{wrong}}\n", 2)
    assert first == "error TW1234 kernel.mlir: 'foo.op' (occurrence 2) column 3"
    assert location("// more\n  foo.op\n\n  foo.op // reworded\n", 4) == first
    assert location("  foo.op\n  foo.op", 1) != first
