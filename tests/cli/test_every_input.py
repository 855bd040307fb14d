"""Every tool takes every kernel: each cell of the tables in docs/cli.md, and the page itself."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from itertools import product
from pathlib import Path
from shutil import which

import pytest

from scripts import cli_doc
from tilewright.cli import main
from tilewright.cli.commands import COMMANDS, KERNEL_TOOLS, SHELLS
from tilewright.cli.completion import flags
from tilewright.cli.languages import LANGUAGES
from tilewright.cli.support import COMPAT, INPUTS, SCRIPT, TARGETS, YES, of_input, of_target
from tilewright.targets.hip.clang import installed

ROOT = Path(__file__).parents[2]
KERNELS = Path(__file__).parent / "inputs"
TOOLS = [each.name for each in KERNEL_TOOLS]
TEXTS = {"tl": "tl.ttir", "tlx": "tlx.ttir", "T": "T.mlir"}
ARGUMENTS = {
    "tl": ("--grid=4", "--arg=x_ptr=f32[100]:ones", "--arg=out_ptr=f32[100]:zeros", "--arg=n=100"),
    "tlx": ("--arg=x_ptr=f32[100]:ones", "--arg=out_ptr=f32[100]:zeros", "--arg=n=100", "--grid=1"),
    "T": ("--arg=X=f32[1024]:ones", "--arg=Y=f32[1024]:zeros"),
}
PRINTED = {
    "run": "",
    "check": ": no fault",
    "analyze": "PATTERN(",
    "memory": "shared",
    "layout": " threads\n",
    "compile": "spilled",
    "tune": " on ",
}
"""A part of what each tool prints about a kernel."""


@pytest.fixture
def tool(monkeypatch, capsys):
    """Runs a command: exit code, and all that it printed."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "argv", sys.argv)

    def run(*arguments: str) -> tuple[int, str]:
        code = main.run(arguments)
        out, err = capsys.readouterr()
        return code, out + err

    return run


@pytest.fixture(scope="module")
def compat_outcomes() -> dict[tuple[str, str], tuple[int, str]]:
    """Code and text of every command on every script that imports Triton or TileLang."""
    cells = list(product(TOOLS, LANGUAGES))
    lines = [arguments_of(command, language, COMPAT) for command, language in cells]
    done = subprocess.run(
        [sys.executable, "-m", "tests.cli.compat_driver"],
        input=json.dumps(lines),
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])},
    )
    assert done.returncode == 0, done.stderr
    return dict(zip(cells, map(tuple, json.loads(done.stdout)), strict=True))


def arguments_of(command: str, language: str, input: str) -> list[str]:
    if input == SCRIPT:
        return [command, str(KERNELS / f"{language}.py")]
    if input == COMPAT:
        return [command, "--compat", str(KERNELS / f"compat_{language}.py")]
    given = ARGUMENTS[language] if command in ("run", "check") else ()
    return [command, str(KERNELS / TEXTS[language]), *given]


def needs(command: str, language: str, target: str) -> None:
    """Skip what needs a compiler that is not here."""
    if target.startswith("triton") and command == "compile":
        pytest.importorskip("triton", reason="Triton, which compiles it, is not installed")
    if target.startswith("hip") and command == "compile" and not installed():
        pytest.skip("clang 19, which compiles HIP kernels, is not installed: make clang")


@pytest.mark.parametrize("input", INPUTS)
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("command", TOOLS)
def test_every_command_takes_every_kernel(tool, request, command, language, input):
    if command == "compile" and language != "T" and input not in (SCRIPT, COMPAT):
        needs(command, language, "triton")
    expected = of_input(command, language, input)
    if input == COMPAT:
        code, printed = request.getfixturevalue("compat_outcomes")[command, language]
    else:
        code, printed = tool(*arguments_of(command, language, input))
    assert code == expected.code, printed
    assert (expected.printed or PRINTED[command]) in printed
    if (command, input) == ("run", "IR text"):
        assert (
            f"{100 if language != 'T' else 1024} of {100 if language != 'T' else 1024} changed; 2 to 2"
            in printed
        )


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("command", TOOLS)
def test_every_command_has_every_target(tool, command, language, target):
    needs(command, language, target)
    expected = of_target(command, language, target)
    code, printed = (
        tool(*arguments_of(command, language, SCRIPT), f"--target={target}")
        if (command not in ("run", "check"))
        else tool(command, f"--target={target}", str(KERNELS / f"{language}.py"))
    )
    assert code == expected.code, printed
    shown = {**PRINTED, "compile": "kernel"}[command]
    if target.startswith("tenstorrent") and command == "memory":
        shown = "L1 of"
    assert (expected.printed or shown) in printed


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("command", TOOLS)
def test_json_is_all_that_standard_output_has(monkeypatch, capsys, command, language):
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "argv", sys.argv)
    assert main.run([command, "--json", str(KERNELS / f"{language}.py")]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found
    if command in ("run", "check"):
        assert [each["language"] for each in found["kernels"]] == [language]


@pytest.mark.parametrize("command", TOOLS)
def test_a_kernel_that_is_not_there_is_named(tool, command):
    for form in (["--kernel", "scal", str(KERNELS / "tl.py")], [f"{KERNELS / 'tl.py'}:scal"]):
        code, printed = tool(command, *form)
        assert code == 2
        assert "no kernel 'scal'" in printed
        assert "scale" in printed.partition("no kernel 'scal'")[2]
    if command != "tune":
        code, printed = tool(command, f"{KERNELS / 'tl.ttir'}", "--kernel", "scal")
        assert (code, "scal" in printed) == (2, True)


@pytest.mark.parametrize("command", TOOLS)
def test_a_file_that_is_not_there_is_a_wrong_command_line(tool, command):
    assert tool(command, "absent.py") == (
        2,
        f"tilewright {command}: cannot read 'absent.py': no such file\n",
    )


@pytest.mark.parametrize("command", [*TOOLS, "studio"])
@pytest.mark.parametrize(
    "target", ["cuda:sm_77", "cuda:sm_9", "hip:gfx1", "tenstorrent:grayskull", "cuda:", "vulkan"]
)
def test_hardware_that_there_is_not_is_a_wrong_command_line(tool, command, target):
    code, printed = tool(command, "--target", target, str(KERNELS / "tl.py"))
    assert code == 2
    assert printed.startswith(f"tilewright {command}: ") and printed.count("\n") == 1
    assert target in printed


@pytest.mark.parametrize("command", [*TOOLS, "studio"])
def test_a_command_line_without_a_file_waits_for_nothing(tool, command):
    assert tool(command) == (2, f"tilewright {command}: no FILE; try --help\n")


@pytest.mark.parametrize("command", TOOLS)
def test_help_after_a_script_is_that_of_a_tool_whose_flags_are_there(tool, tmp_path, command):
    file = tmp_path / "kernel.py"
    file.write_text("import sys\nprint('the script has', sys.argv[1:])\n")
    code, printed = tool(command, str(file), "--help")
    own = next(each for each in KERNEL_TOOLS if each.name == command)
    if own.has_flags_after_script:
        assert (code, printed) == (0, own.help_text(f"tilewright {command}"))
    elif command == "run":
        assert (code, printed) == (0, "the script has ['--help']\n")
    else:
        assert not printed.startswith("usage")


@pytest.mark.parametrize("command", [*TOOLS, "ops"])
def test_a_file_of_another_kind_is_named_as_such(tool, tmp_path, command):
    file = tmp_path / "README.md"
    file.write_text("# A kernel\n")
    code, printed = tool(command, str(file))
    if command == "tune":
        expected = (
            f"tilewright tune: '{file}' is no Python script: tune takes the one that launches\n"
        )
        assert (code, printed) == (2, expected)
        return
    assert code == (1 if command == "ops" else 2)
    assert printed.endswith(
        f"{file} was read as IR text: kernels are in Python files (.py) or IR text (.ttir, .ttgir, "
        ".mlir, or '-' for standard input)\n"
    )


@pytest.mark.parametrize("command", [*(each for each in TOOLS if each != "tune"), "ops", "opt"])
def test_standard_input_of_a_terminal_is_asked_for(tool, monkeypatch, command):
    class Terminal(io.TextIOWrapper):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdin", Terminal(io.BytesIO(b"module {\n}\n")))
    _, printed = tool(command, "-")
    assert "reading IR text from standard input; Ctrl-D ends it\n" in printed


# -- the page --------------------------------------------------------------------------------------


def test_the_page_is_current():
    """`python scripts/cli_doc.py` rewrites it."""
    assert cli_doc.PAGE.read_text() == cli_doc.page()


def test_no_cell_is_empty():
    rows = [row for row in cli_doc.page().splitlines() if row.startswith("| `")]
    assert len(rows) > 2 * len(TOOLS)
    assert all(cell.strip() for row in rows for cell in row.strip("|").split("|"))
    cells = [of_target(*each) for each in product(TOOLS, LANGUAGES, TARGETS)]
    assert all(each == YES or (each.reason and each.printed) for each in cells)


def test_every_command_is_explained_with_an_example():
    for command in COMMANDS:
        text = command.help_text(f"tilewright {command.name}")
        assert text.startswith(f"usage: tilewright {command.name}")
        assert "examples:\n" in text
        assert "Exit code: " in text
        assert max(map(len, text.splitlines())) <= 100
        assert all(each.help for each in command.options) or command.name == "opt"


# -- completion ------------------------------------------------------------------------------------


@pytest.mark.parametrize("shell", SHELLS)
def test_completion_has_all_commands_and_flags(capsys, shell):
    assert main.run(["completion", shell]) == 0
    script = capsys.readouterr().out
    for command in COMMANDS:
        assert command.name in script
        for flag in flags(command):
            name = flag.lstrip("-")
            assert flag in script or f"-l {name}" in script or f"-s {name}" in script


COMPLETED = {
    "com": ["compile", "completion"],
    "layout --bu": ["--buffer"],
    "compile --target tenst": [f"tenstorrent:{chip}" for chip in ("blackhole", "sim", "wormhole")],
    "analyze --format h": ["html"],
    "memory --format=h": ["html"],
    "check kernel.py --sched": ["--schedules"],
    "cache ": ["clear", "show"],
    "completion ": ["bash", "fish", "zsh"],
}
"""What a shell has for the last word of a command line."""


@pytest.fixture
def installed_shell(tmp_path, monkeypatch, capsys):
    """The completion of a shell, written where it reads it."""

    def write(shell: str, name: str) -> Path:
        if which(shell) is None:
            pytest.skip(f"{shell} is not installed: apt install {shell}")
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("HOME", str(tmp_path))
        main.run(["completion", shell])
        script = tmp_path / name
        script.write_text(capsys.readouterr().out)
        return script

    return write


def output_of(*command: str) -> list[str]:
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    return done.stdout.splitlines()


def test_bash_completes(installed_shell):
    script = installed_shell("bash", "completion.bash")

    def completed(line: str) -> list[str]:
        words = ["tilewright", *re.findall(r"=|[^ =]+", line), *([""] if line[-1] in " " else [])]
        typed = " ".join(f"'{each}'" for each in words)
        code = f". {script}; COMP_WORDS=({typed}); COMP_CWORD={len(words) - 1}; _tilewright; "
        code += 'printf "%s\\n" "${COMPREPLY[@]}"'
        return sorted(output_of("bash", "--norc", "-c", code))

    assert {line: completed(line) for line in COMPLETED} == COMPLETED
    assert completed("memory --format=") == ["html", "json", "svg", "text"]


def test_fish_completes(installed_shell):
    script = installed_shell("fish", "completion.fish")
    lines = "; ".join(f"echo '= {line}'; complete -C 'tilewright {line}'" for line in COMPLETED)
    found: dict[str, list[str]] = {}
    for each in output_of("fish", "--no-config", "-c", f"source {script}; {lines}"):
        if each.startswith("= "):
            current = found.setdefault(each[2:], [])
        else:
            current.append(each.partition("\t")[0].rpartition("=")[2])
    assert {line: sorted(each) for line, each in found.items()} == COMPLETED


ZSH = """\
zmodload zsh/zpty
zpty z zsh -f -i
type() { zpty -w z "$1" }
type "PS1='ready> '; fpath=($1 \\$fpath); autoload -U compinit; compinit -D -u"
type 'compadd() { local -a found; builtin compadd -A found "$@"
  for each in $found; do print -r -- "[MATCH:]$each"; done; builtin compadd "$@" }'
type 'zstyle ":completion:*" menu no; bindkey "^I" complete-word; LISTMAX=10000; print END"0"'
zpty -r z out '*END0*ready> '
index=0
for line in "${@:2}"; do
  (( index++ ))
  zpty -n -w z "tilewright $line"$'\\t'
  zpty -n -w z $'\\x15'
  type "print E''ND$index"
  zpty -r z out "*END$index*ready> "  # a key before the prompt is not one of the line editor
  print -r -- "= $line"
  print -r -- "$out" | tr -d '\\r' | grep -o '\\[MATCH:\\][^ ]*' | sort -u
done
zpty -d z
"""
"""Completes command lines in a terminal; each match is printed by `compadd`."""


def test_zsh_completes(installed_shell, tmp_path):
    script = installed_shell("zsh", "_tilewright")
    (tmp_path / "complete.zsh").write_text(ZSH)
    found: dict[str, list[str]] = {}
    for each in output_of("zsh", "-f", "complete.zsh", str(script.parent), *COMPLETED):
        if each.startswith("= "):
            current = found.setdefault(each[2:], [])
        elif "$" not in each:
            current.append(each.removeprefix("[MATCH:]"))
    assert {line: sorted(each) for line, each in found.items()} == COMPLETED


def test_a_shell_that_is_not_known(capsys):
    assert main.run(["completion", "tcsh"]) == 2
    assert capsys.readouterr().err == "tilewright completion: pass a shell: bash, zsh, fish\n"


@pytest.mark.parametrize("command", ["run", "check", "analyze"])
def test_a_flag_among_the_arguments_of_a_script_is_named(tool, command):
    """A check that was asked for there is not done, which `no fault` would hide."""
    script = str(KERNELS / "tl.py")
    code, printed = tool(command, script, "--kernels", "--bogus", "more")
    assert code == 0
    (line,) = [line for line in printed.splitlines() if line.startswith("note: ")]
    assert line.startswith(
        f"note: '--kernels' follows {script}, so it is an argument of the script"
    )
    assert "note: " not in tool(command, script, "--", "--kernel", "nope")[1]
