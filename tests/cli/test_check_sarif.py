"""`tilewright check --sarif`: the log has the structure of SARIF 2.1.0, and the positions of reports."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.runtime.executors.kernels import RING
from tilewright.cli import main
from tilewright.ir.diagnostics import Diagnostic, Severity, SourcePosition
from tilewright.report.sarif import sarif_text

CORPUS = Path(__file__).parents[1] / "corpus" / "ttir"
WAIT = "                tlx.barrier_wait(full[slot], (block // 2) & 1)\n"
UNMASKED = """\
import numpy as np
import tilewright as tw
from tilewright import tl


@tw.jit
def add(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets), mask=offsets < n)


x = np.ones(100, np.float32)
add[(2,)](x, np.empty_like(x), {arguments})
"""

# The properties that the schema of SARIF 2.1.0 defines for the objects that occur here, with their
# types; `!` marks those that it requires. What is not listed is no property of the object.
OBJECTS: dict[str, dict[str, str]] = {
    "log": {"$schema": "string", "version!": "'2.1.0'", "runs!": "[run]"},
    "run": {
        "tool!": "tool",
        "invocations": "[invocation]",
        "originalUriBaseIds": "{artifactLocation}",
        "columnKind": "'unicodeCodePoints'",
        "results": "[result]",
    },
    "tool": {"driver!": "toolComponent"},
    "toolComponent": {"name!": "string", "semanticVersion": "string", "rules": "[rule]"},
    "rule": {
        "id!": "string",
        "shortDescription": "message",
        "fullDescription": "message",
        "help": "message",
    },
    "invocation": {
        "executionSuccessful!": "boolean",
        "commandLine": "string",
        "toolExecutionNotifications": "[notification]",
    },
    "notification": {"level": "level", "message!": "message"},
    "result": {
        "ruleId": "string",
        "ruleIndex": "integer",
        "level": "level",
        "message!": "message",
        "locations": "[location]",
        "relatedLocations": "[location]",
    },
    "location": {"id": "integer", "physicalLocation": "physicalLocation", "message": "message"},
    "physicalLocation": {"artifactLocation": "artifactLocation", "region": "region"},
    "artifactLocation": {"uri": "uri", "uriBaseId": "string"},
    "region": {
        "startLine": "positive",
        "startColumn": "positive",
        "endLine": "positive",
        "endColumn": "positive",
    },
    "message": {"text": "string"},
}


def problems(value: object, kind: str, where: str = "log") -> list[str]:
    """What of a value the schema does not allow."""
    if kind.startswith("["):
        if not isinstance(value, list):
            return [f"{where} is no array"]
        return [
            x for n, each in enumerate(value) for x in problems(each, kind[1:-1], f"{where}[{n}]")
        ]
    if kind.startswith("{"):
        assert isinstance(value, dict)
        return [
            x for key, each in value.items() for x in problems(each, kind[1:-1], f"{where}.{key}")
        ]
    if kind.startswith("'"):
        return [] if value == kind[1:-1] else [f"{where} is {value!r}"]
    checks = {
        "string": lambda: isinstance(value, str),
        "boolean": lambda: isinstance(value, bool),
        "integer": lambda: isinstance(value, int) and value >= 0,
        "positive": lambda: isinstance(value, int) and value >= 1,
        "level": lambda: value in ("none", "note", "warning", "error"),
        "uri": lambda: isinstance(value, str) and re.fullmatch(r"[\w.~/:%-]+", value, re.ASCII),
    }
    if kind in checks:
        return [] if checks[kind]() else [f"{where}: {value!r} is no {kind}"]
    if not isinstance(value, dict):
        return [f"{where} is no object"]
    known = {name.rstrip("!"): each for name, each in OBJECTS[kind].items()}
    needed = [name[:-1] for name in OBJECTS[kind] if name.endswith("!")]
    found = [f"{where} has no {name}" for name in needed if name not in value]
    for name, each in value.items():
        if name not in known:
            found.append(f"{where} has {name}")
        else:
            found += problems(each, known[name], f"{where}.{name}")
    return found


@pytest.fixture
def checked(tmp_path, monkeypatch, capsys):
    """Runs `tilewright check --sarif` in a directory with a space; the log and the exit code."""
    directory = tmp_path / "my kernels"
    directory.mkdir()
    monkeypatch.chdir(directory)
    monkeypatch.setattr(sys, "argv", ["tilewright"])
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])

    def run(text: str, *flags: str, name: str = "kernel.py") -> tuple[dict, int, str]:
        Path(name).write_text(text)
        code = main.run(["check", *flags, name, "--sarif", "out.sarif"])
        log = json.loads(Path("out.sarif").read_text(encoding="utf-8"))
        assert problems(log, "log") == []
        (one,) = log["runs"]
        for result in one["results"]:
            if "ruleId" in result:
                assert one["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        return one, code, capsys.readouterr().err

    return run


def file_of(location: dict, run: dict) -> Path:
    artifact = location["physicalLocation"]["artifactLocation"]
    base = (
        run["originalUriBaseIds"][artifact["uriBaseId"]]["uri"] if "uriBaseId" in artifact else ""
    )
    return Path(unquote(urlsplit(base + artifact["uri"]).path))


def test_a_race_is_a_result_with_both_accesses(checked):
    text = RING.format(factor=2).replace(WAIT, "")
    run, code, err = checked(text)
    assert code == 1
    first, *_ = run["results"]
    assert (first["ruleId"], first["level"]) == ("TW6132", "error")
    assert first["message"]["text"].startswith("missing wait: the TMA load into tile[0]")
    assert "witness: program (0, 0, 0), schedule with seed 0" in first["message"]["text"]
    (location,) = first["locations"]
    assert file_of(location, run) == Path("kernel.py").absolute()
    assert location["physicalLocation"]["artifactLocation"]["uri"] == "kernel.py"
    line = location["physicalLocation"]["region"]["startLine"]
    assert f"kernel.py:{line}:" in err.splitlines()[0]
    related = [each["message"]["text"] for each in first["relatedLocations"]]
    assert related[0].startswith("the other access: read of tile[0] by partition0")
    assert [each["id"] for each in first["relatedLocations"]] == [*range(1, len(related) + 1)]
    (rule,) = [each for each in run["tool"]["driver"]["rules"] if each["id"] == "TW6132"]
    assert rule["shortDescription"]["text"]
    assert rule["help"]["text"]


def test_columns_are_those_of_the_report(checked):
    run, code, _ = checked(UNMASKED.format(arguments="100, BLOCK=64"))
    (fault,) = run["results"]
    region = fault["locations"][0]["physicalLocation"]["region"]
    line = UNMASKED.splitlines()[8]
    start = line.index("tl.load") + 1
    assert region["startLine"] == 9
    assert region["startColumn"] == start
    assert line[start - 1 : region["endColumn"] - 1] == "tl.load(x_ptr + offsets)"
    assert (code, fault["ruleId"]) == (1, "TW6101")


def test_nothing_wrong_is_a_log_without_results(checked):
    run, code, err = checked(
        UNMASKED.format(arguments="100, BLOCK=50 // 50 * 4").replace("(2,)", "(25,)")
    )
    assert (code, run["results"], run["tool"]["driver"]["rules"]) == (0, [], [])
    assert run["invocations"][0]["executionSuccessful"] is True
    assert err.endswith(": no fault\n")


def test_warnings_and_errors_before_a_kernel_runs(checked):
    run, code, _ = checked(RING.format(factor=2), "--allow-unread")
    assert [(each["ruleId"], each["level"]) for each in run["results"]] == [("TW6139", "warning")]
    assert code == 0
    run, code, _ = checked(UNMASKED.format(arguments="100"))
    (missing,) = run["results"]
    assert missing["message"]["text"].startswith("add is missing a value for BLOCK")
    assert missing["locations"][0]["physicalLocation"]["region"]["startLine"] == 13
    run, code, _ = checked(UNMASKED.format(arguments="100, BLOCK=48"))
    assert code == 1
    assert run["results"][0]["level"] == "error"


def test_a_script_that_fails_otherwise_was_not_checked(checked):
    run, code, _ = checked("raise SystemExit(3)\n")
    assert (code, run["results"]) == (3, [])
    (invocation,) = run["invocations"]
    assert invocation["executionSuccessful"] is False
    (notification,) = invocation["toolExecutionNotifications"]
    assert notification["message"]["text"] == "the check ended with exit code 3"


def test_ir_text_and_files_elsewhere(checked, tmp_path):
    text = (CORPUS / "vector_add.ttir").read_text().replace("tt.load", "tt.lood", 1)
    run, code, _ = checked(text, name="add.ttir")
    assert code == 2
    assert "lood" in run["results"][0]["message"]["text"]
    outside = Diagnostic(Severity.REMARK, "far", SourcePosition(str(tmp_path / "ä b.py"), 3, 0))
    log = json.loads(sarif_text([outside], version="1", root=tmp_path / "x", command="c"))
    assert problems(log, "log") == []
    (result,) = log["runs"][0]["results"]
    assert result["level"] == "note"
    assert file_of(result["locations"][0], log["runs"][0]) == tmp_path / "ä b.py"
    assert result["locations"][0]["physicalLocation"]["region"] == {"startLine": 3}


def test_the_structure_notices_what_is_wrong():
    log = json.loads(sarif_text([], version="1", root=Path.cwd(), command="c"))
    log["runs"][0]["results"].append({"level": "fatal", "locations": [{"line": 1}]})
    del log["runs"][0]["tool"]["driver"]["name"]
    assert problems(log, "log") == [
        "log.runs[0].tool.driver has no name",
        "log.runs[0].results[0] has no message",
        "log.runs[0].results[0].level: 'fatal' is no level",
        "log.runs[0].results[0].locations[0] has line",
    ]


def test_only_check_writes_it(capsys):
    assert main.run(["run", "--sarif", "x.sarif", "kernel.py"]) == 2
    assert "--sarif applies to 'tilewright check' only" in capsys.readouterr().err
