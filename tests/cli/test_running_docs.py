"""docs/running-kernels.md: flags, messages and names on the page are those of the programs."""

import re
import sys
from pathlib import Path

import pytest

from tilewright.cli import main
from tilewright.compat.modules import MODULES
from tilewright.compat.tilelang_modules import TILELANG, TVM

PAGE = (Path(__file__).parents[2] / "docs" / "running-kernels.md").read_text()
VECTOR_ADD = Path(__file__).parents[1] / "corpus" / "ttir" / "vector_add.ttir"


def block(start: str) -> str:
    (found,) = (
        body for body in re.findall(r"^```\w*\n(.*?)^```", PAGE, re.M | re.S) if start in body
    )
    return found


@pytest.mark.parametrize("command", ["run", "check"])
def test_flags_of_the_page_exist(command, capsys):
    assert main.run([command, "--help"]) == 0
    known = set(re.findall(r"--[a-z]+", capsys.readouterr().out))
    shown = set(re.findall(r"^\| `(--[a-z]+)", PAGE, re.M))
    assert len(shown) == 12
    assert shown - known == set()


def test_the_fault_of_the_page_is_the_programs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "argv", ["tilewright"])
    Path("scale.py").write_text(block("# scale.py"))
    assert main.run(["check", "scale.py"]) == 1
    # A script knows itself by its absolute path.
    assert capsys.readouterr().err.replace(f"{tmp_path}/", "") == block("error[TW6101]")


def test_the_command_of_the_page_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("add.ttir").write_text(VECTOR_ADD.read_text())
    words = block("tilewright run add.ttir").replace("\\\n", " ").replace("'", "").split()
    assert main.run(words[1:]) == 0
    assert capsys.readouterr() == ("", "")
    assert Path("result.npz").is_file()


def test_modules_of_the_page_are_offered():
    names = re.findall(r"`(triton[a-z._]*)`", PAGE)
    assert {"triton", "triton.language", "triton.tools.tensor_descriptor"} <= set(names)
    assert [name for name in names if name not in MODULES] == []


def test_modules_of_tilelang_are_offered():
    rows = re.findall(r"^\| (`(?:tilelang|tvm)[^|]*) \|([^|]*)\|$", PAGE, re.M)
    assert len(rows) == 10
    offered = {**TILELANG.modules, **TVM.modules}
    modules = [name for cell, _ in rows for name in re.findall(r"`((?:tilelang|tvm)[\w.]*)`", cell)]
    assert [name for name in modules if name not in offered] == []
    known = {name for offer in offered.values() for name in offer.names}
    known |= {module.rpartition(".")[2] for module in offered}
    known |= {"tvm", "tirx", "T", "set_random_seed", "main", "process_func"}
    words = [word for _, cell in rows for word in re.findall(r"`(\w+)`", cell)]
    assert [word for word in words if word not in known] == []
