"""What the documentation shows is what the tools do."""

import re
from pathlib import Path

import pytest

from tilewright.cli import opt
from tilewright.ir.diagnostics import CompileError

ROOT = Path(__file__).parents[1]


def blocks(page: str, language: str) -> list[str]:
    """The fenced blocks of `page` in `language` ('' for plain ones)."""
    pieces = re.split(r"^```(.*)\n", (ROOT / page).read_text(), flags=re.MULTILINE)
    # prose, fence, body, closing fence, prose, ...
    fences = zip(pieces[1::4], pieces[2::4], strict=False)
    return [body for found, body in fences if found == language]


def test_readme_example_loses_the_addition_of_zero(tmp_path, capsys):
    (source,) = blocks("README.md", "mlir")
    name = source.splitlines()[0].removeprefix("// ")
    file = tmp_path / name
    file.write_text(source)
    (command,) = [b for b in blocks("README.md", "") if "tilewright-opt --" in b]
    flags = [word for word in command.split()[1:] if word.startswith("-")]
    assert opt.run([*flags, str(file)]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert "arith.addi" in source
    assert "arith.addi" not in out
    assert out.count("arith.muli") == 1


def test_diagnostics_page_shows_a_real_message(tmp_path, capsys, monkeypatch):
    shown = next(b for b in blocks("docs/diagnostics.md", "") if "prior use here" in b)
    (source,) = blocks("README.md", "mlir")
    lines = source.splitlines()[1:]
    broken = [line.replace("%same, %four : i32", "%same, %four : i64") for line in lines]
    monkeypatch.chdir(tmp_path)
    Path("bad.ttir").write_text("\n".join(broken) + "\n")
    assert opt.run(["bad.ttir"]) == 1
    assert capsys.readouterr().err == shown


def test_expectation_on_the_diagnostics_page_is_met(tmp_path, capsys):
    (snippet,) = blocks("docs/diagnostics.md", "mlir")
    header = "tt.func @f(%p: tensor<8x!tt.ptr<f32>>, %i: tensor<4xi32>) {\n"
    file = tmp_path / "doc.mlir"
    file.write_text(f"{header}{snippet}tt.return\n}}\n")
    assert opt.run(["--verify-diagnostics", str(file)]) == 0
    file.write_text(
        f"{header}{snippet.replace('4xi32', '8xi32')}tt.return\n}}\n".replace("4xi32", "8xi32")
    )
    assert opt.run(["--verify-diagnostics", str(file)]) == 1
    capsys.readouterr()


def test_a_dump_comes_back_with_the_flags_of_the_opt_page(capsys):
    command = next(b for b in blocks("docs/opt.md", "") if "nameloc" in b)
    flags = [word for word in command.split() if word.startswith("-")]
    file = ROOT / "tests" / "corpus" / "ttir" / "flash_attn_fwd.ttir"
    assert opt.run([*flags, str(file)]) == 0
    assert capsys.readouterr().out == file.read_text()


def test_every_flag_on_the_opt_page_exists(capsys):
    opt.run(["--help"])
    known = capsys.readouterr().out
    page = (ROOT / "docs" / "opt.md").read_text()
    flags = set(re.findall(r"`-{1,2}([a-z][a-z-]+)", page)) - {"canonicalize"}
    assert flags
    assert [flag for flag in sorted(flags) if f"-{flag}" not in known] == ["help"]


def test_links_between_pages_lead_somewhere():
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_python_page(tmp_path):
    (code,) = blocks("docs/python.md", "python")
    scope: dict = {}
    exec(compile(code, "python.md", "exec"), scope)
    (source,) = blocks("README.md", "mlir")
    assert "arith.addi" not in scope["optimise"](source, "scale.ttir")
    with pytest.raises(CompileError, match="undeclared SSA value name '%nope'"):
        scope["optimise"](source.replace("%zero :", "%nope :"), "scale.ttir")
