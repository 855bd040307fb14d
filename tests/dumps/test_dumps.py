"""The corpus and its judge keep their promises: stable text in, stable bytes out."""

import re
from pathlib import Path

import pytest

pytest.importorskip("triton", reason="the dumps are made and judged by Triton")

from .case import TARGETS
from .consumer import build, canonical_text
from .generate import cases, dump, main, portable

BY_NAME = {case.name: case for case in cases()}
SAMPLES = [
    ("vector_add", "sm90"),
    ("gemm_host_descriptors_specialized", "sm100"),
    ("while_loops", "gfx942"),
    ("gluon_specialized", "sm90"),
]


def test_every_case_names_known_targets() -> None:
    unknown = {
        case.name: set(case.targets) - set(TARGETS)
        for case in BY_NAME.values()
        if not case.targets or not set(case.targets) <= set(TARGETS)
    }
    assert unknown == {}


@pytest.mark.parametrize(("name", "target"), SAMPLES)
def test_text_is_the_same_every_time_and_names_no_folder(name: str, target: str) -> None:
    texts = dump(BY_NAME[name], target)
    assert texts == dump(BY_NAME[name], target)
    for text in texts.values():
        assert '("/' not in text


@pytest.mark.parametrize(("name", "target"), SAMPLES)
def test_every_stage_builds_the_same_bytes(name: str, target: str) -> None:
    case = BY_NAME[name]
    texts = dump(case, target)
    built = [build(text, kind, target, case.options) for kind, text in texts.items()]
    again = build(texts["ttgir"], "ttgir", target, case.options)
    assert set(built) == {again}


@pytest.mark.parametrize(("name", "target"), SAMPLES)
def test_canonical_text_is_settled(name: str, target: str) -> None:
    settled = canonical_text(dump(BY_NAME[name], target)["ttgir"])
    assert canonical_text(settled) == settled
    assert canonical_text(f"\n\n{settled}") == settled


def test_line_breaks_do_not_reach_the_bytes() -> None:
    # Here the unpipelined loop's values carry their position in the text into line information.
    case = BY_NAME["gemm_f16_one_stage"]
    text = dump(case, "gfx942")["ttgir"]
    moved = build(f"\n\n{text}", "ttgir", "gfx942", case.options)
    assert moved == build(text, "ttgir", "gfx942", case.options)


def test_source_files_on_disk_do_not_reach_the_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = BY_NAME["vector_add"]
    text = dump(case, "sm80")["ttgir"]
    here = build(text, "ttgir", "sm80", case.options)
    copy = tmp_path / "tests/dumps/kernels/elementwise.py"
    copy.parent.mkdir(parents=True)
    copy.write_text("another size and age")
    monkeypatch.chdir(tmp_path)
    assert build(text, "ttgir", "sm80", case.options) == here


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (r"arith\.addf", "arith.subf"),
        (r'elementwise\.py":(\d+):', r'elementwise.py":1\1:'),
        ("tt.divisibility = 16", "tt.divisibility = 4"),
    ],
    ids=["operation", "line", "alignment"],
)
def test_bytes_tell_changed_programs_apart(old: str, new: str) -> None:
    case = BY_NAME["vector_add"]
    text = dump(case, "sm90")["ttir"]
    changed = re.sub(old, new, text)
    assert changed != text
    assert build(changed, "ttir", "sm90", case.options) != build(text, "ttir", "sm90", case.options)


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="no stage follows a text of kind 'llir'"):
        build("module {}", "llir", "sm90")


def test_parse_errors_are_raised() -> None:
    with pytest.raises(RuntimeError):
        canonical_text("module { tt.nonsense }")


def test_files_are_named_for_case_target_and_stage(tmp_path: Path) -> None:
    assert main([str(tmp_path), "--targets", "sm80,gfx942", "--only", "grid_shape"]) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        f"grid_shape.{target}.{kind}"
        for target in ("gfx942", "sm80")
        for kind in ("source.ttir", "ttgir", "ttir")
    ]


def test_folders_are_cut_from_locations() -> None:
    here = Path(__file__).resolve()
    assert portable(f'loc("{here}":1:1)') == 'loc("tests/dumps/test_dumps.py":1:1)'
    assert portable('loc("/elsewhere/a.py":1:1)') == 'loc("/elsewhere/a.py":1:1)'
