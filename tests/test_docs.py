"""What the documentation shows is what the tools do."""

import re
import runpy
from pathlib import Path

import numpy as np
import pytest

import tilewright
from tilewright.cli import opt
from tilewright.ir.diagnostics import CompileError
from tilewright.targets.numpy.api import NumpyFault

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
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]:
        # Code is not prose: a launch looks like a link.
        prose = re.sub(
            r"^```.*?^```|`[^`\n]*`", "", page.read_text(), flags=re.MULTILINE | re.DOTALL
        )
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", prose):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_python_page(tmp_path):
    (code,) = blocks("docs/python.md", "python")
    scope: dict = {}
    exec(compile(code, "python.md", "exec"), scope)
    (source,) = blocks("README.md", "mlir")
    assert "arith.addi" not in scope["optimise"](source, "scale.ttir")
    with pytest.raises(CompileError, match="undeclared SSA value name '%nope'"):
        scope["optimise"](source.replace("%zero :", "%nope :"), "scale.ttir")


def test_the_kernel_on_the_triton_page_adds(tmp_path):
    (code,) = blocks("docs/triton-kernels.md", "python")
    file = tmp_path / code.splitlines()[0].removeprefix("# ")
    file.write_text(code)
    scope = runpy.run_path(str(file))
    np.testing.assert_array_equal(scope["out"], 2 * np.arange(1000, dtype=np.float32))


def test_names_on_the_triton_page_exist():
    page = (ROOT / "docs" / "triton-kernels.md").read_text()
    names = set(re.findall(r"\btw\.([A-Za-z_]\w*)", page))
    assert len(names) > 8
    assert [name for name in sorted(names) if not hasattr(tilewright, name)] == []


def test_the_kernel_in_the_readme_agrees_with_float64(tmp_path, capsys):
    (code,) = blocks("README.md", "python")
    file = tmp_path / code.splitlines()[0].removeprefix("# ")
    file.write_text(code)
    scope = runpy.run_path(str(file))
    x = scope["x"].astype(np.float64)
    numerator = np.exp(x - x.max(axis=1, keepdims=True))
    expected = numerator / numerator.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(scope["out"], expected, atol=1e-6)
    printed = capsys.readouterr().out.strip()
    assert f"prints `{printed}`" in (ROOT / "README.md").read_text()


def test_the_readme_shows_a_real_fault(tmp_path):
    (code,) = blocks("README.md", "python")
    (shown,) = [each for each in blocks("README.md", "") if "TW6101" in each]
    file = tmp_path / "softmax.py"
    broken = code.replace(', mask=inside, other=-float("inf")', "", 1)
    assert broken != code
    file.write_text(broken)
    with pytest.raises(NumpyFault) as fault:
        runpy.run_path(str(file))
    assert str(fault.value).replace(f"{tmp_path}/", "").startswith(shown)


_PATH = re.compile(r"`([\w./-]+/[\w.-]*[\w]|[\w-]+\.(?:py|md))`")


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "docs/read-this-code.md"])
def test_files_that_a_page_names_exist(page):
    prose = re.sub(r"^```.*?^```", "", (ROOT / page).read_text(), flags=re.M | re.S)
    named = {name for name in _PATH.findall(prose) if "<" not in name and "…" not in name}
    assert len(named) > 15
    missing = [
        name
        for name in sorted(named)
        if not any((ROOT / base / name).exists() for base in ("", "src", "src/tilewright", "docs"))
    ]
    assert missing == []


def test_the_kernel_of_the_reading_guide_is_out_of_bounds(tmp_path):
    (code,) = blocks("docs/read-this-code.md", "python")
    file = tmp_path / code.splitlines()[0].removeprefix("# ")
    file.write_text(code)
    with pytest.raises(NumpyFault, match=r"lane 100"):
        runpy.run_path(str(file))


def test_contributing_lists_every_package():
    text = (ROOT / "CONTRIBUTING.md").read_text()
    table = text[text.index("## Packages") : text.index("## How a kernel goes")]
    first = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    listed = {name for cell in first for name in re.findall(r"`(\w+)`", cell)}
    source = ROOT / "src" / "tilewright"
    packages = {path.parent.name for path in source.glob("*/__init__.py")}
    modules = {path.stem for path in source.glob("[!_]*.py")}
    assert listed == packages | modules


def test_contributing_has_the_order_of_the_import_contract():
    import tomllib

    text = (ROOT / "CONTRIBUTING.md").read_text()
    table = text[text.index("## Packages") : text.index("## How a kernel goes")]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    (layers,) = [each["layers"] for each in contracts["contracts"] if "downwards" in each["name"]]
    assert [re.findall(r"\w+", row) for row in rows] == [
        re.findall(r"\w+", layer) for layer in layers
    ]


def test_every_page_is_in_the_index():
    index = (ROOT / "docs" / "index.md").read_text()
    pages = {str(path.relative_to(ROOT / "docs")) for path in (ROOT / "docs").rglob("*.md")}
    listed = set(re.findall(r"\]\(([\w/-]+\.md)", index))
    assert pages - {"index.md"} == listed
