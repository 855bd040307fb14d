"""The script that compares with an alignment test: how it reads one, and what it calls weaker."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

FILE = Path(__file__).parents[3] / "scripts" / "axis_info_parity.py"

TEXT = """\
tt.func @one() {
  // remark {{contiguity = [1], divisibility = [8], constancy = [128], constant_value = 8}}
  %0 = arith.constant dense<8> : tensor<128xi32>
  // CHECK-NEXT: contiguity = [128], divisibility = [1073741824], constancy = [1], constant_value = <none>
  %1 = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32>
  tt.return
}

// -----

tt.func @two(%c: i1) {
  // remark {{constancy = [1], constant_value = -1}}
  %true = arith.constant true
  %lb = arith.constant 0 : i32
  %ub = arith.constant 8 : i32
  %x, %y = scf.for %i = %lb to %ub step %ub iter_args(%a = %lb, %b = %ub) -> (i32, i32) : i32 {
    // remark {{divisibility = [8]}}
    // remark {{divisibility = [8], constant_value = 8}}
    scf.yield %a, %b : i32, i32
  }
  tt.return
}
"""


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("axis_info_parity", FILE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look their module up by name.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def run(script: ModuleType, directory: Path, text: str, *flags: str) -> int:
    file = directory / "test.mlir"
    file.write_text(text)
    return script.main([str(file), *flags])


def test_equal_and_stronger_values(
    script: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(script, tmp_path, TEXT) == 0
    stronger, other, total = capsys.readouterr().out.splitlines()
    assert stronger.startswith("test.mlir:5: stronger: tt.make_range: contiguity = [128]")
    # The loop's first result is zero, which more than eight divides.
    assert other.startswith("test.mlir:19: stronger: scf.yield: ")
    assert total == "5 values: 3 equal, 2 stronger, 0 weaker, 0 no value, 0 unread"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("constancy = [128]", "constancy = [256]"),
        ("contiguity = [128]", "contiguity = [96]"),
        ("constant_value = 8}}\n  %0", "constant_value = 7}}\n  %0"),
        ("constant_value = <none>", "constant_value = 3"),
        ("divisibility = [8], constancy", "divisibility = [8, 1], constancy"),
    ],
)
def test_what_is_weaker(
    script: ModuleType,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    old: str,
    new: str,
) -> None:
    assert old in TEXT
    assert run(script, tmp_path, TEXT.replace(old, new, 1), "--rules") == 1
    assert "1 weaker" in capsys.readouterr().out


def test_what_cannot_be_read_is_no_success(
    script: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(script, tmp_path, TEXT.replace("tt.make_range", "tt.make_rang")) == 1
    assert "2 unread" in capsys.readouterr().out
    assert run(script, tmp_path, "module {}") == 1
    assert script.main([str(tmp_path / "none.mlir")]) == 2
    assert script.main([]) == 2
