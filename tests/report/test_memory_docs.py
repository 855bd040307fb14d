"""The pictures in the documentation are what the tool draws."""

import re
import shlex
from pathlib import Path

import pytest

from tilewright.cli import main
from tilewright.memory import RULES

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "storage-aliasing.md").read_text(encoding="utf-8")
SHOWN = re.findall(r"^```\n\$ (.*)\n([\s\S]*?)^```$", PAGE, re.MULTILINE)


def test_there_are_pictures():
    assert len(SHOWN) == 3


@pytest.mark.parametrize(("command", "shown"), SHOWN, ids=[command for command, _ in SHOWN])
def test_shown_is_what_is_printed(command, shown, capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    program, *arguments = shlex.split(command)
    assert program == "tilewright"
    is_hidden = arguments[-1] == ">/dev/null"
    main.run(arguments[:-1] if is_hidden else arguments)
    out, err = capsys.readouterr()
    assert ("" if is_hidden else out) + err == shown


def test_the_ir_that_is_shown_is_drawn(capsys, tmp_path):
    (source,) = re.findall(r"^```mlir\n([\s\S]*?)^```$", PAGE, re.MULTILINE)
    file = tmp_path / "stages.mlir"
    file.write_text(source, encoding="utf-8")
    assert main.run(["memory", str(file)]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert "2 b: 4 x 16384 bytes at 16384 49152 81920 114688" in out


def test_quoted_messages_exist():
    table = PAGE.split("| message |")[1].split("\n\n")[0]
    quoted = re.findall(r"^\| `(.*?)`", table, re.MULTILINE)
    # A message and a quotation agree if their fixed parts do.
    texts = [re.sub(r"\{\w+\}", "", rule.text) for rule in RULES.values()]
    for quotation in quoted:
        parts = [part.strip(" ()") for part in quotation.split("…")]
        assert any(all(part in text for part in parts) for text in texts), quotation
    assert len(quoted) >= 10
