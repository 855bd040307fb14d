"""``tilewright cache``: what is on disk is shown, and cleared without harm to anything else."""

import json
import os

import pytest

from tilewright.cli.main import run
from tilewright.targets import store


@pytest.fixture(autouse=True)
def own(tmp_path, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(store, "_unseen_bytes", {})
    return tmp_path / "tilewright-cache-v2"


def fill(own):
    for kind, number, size in (("programs", 0, 1000), ("programs", 1, 2000), ("tuning", 0, 10)):
        key = store.digest(str(number))
        store.store(kind, key, {"data": bytes(size)})
        os.utime(own / f"{kind}-{key}.entry", (1_700_000_000 + number,) * 2)


def test_show_what_there_is(own, capsys):
    fill(own)
    size = sum(path.stat().st_size for path in own.glob("*.entry"))
    assert run(["cache", "show"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"directory  {own}"
    assert lines[1] == (
        "limits     2.0 GB (TILEWRIGHT_CACHE_MB), 90 days without use (TILEWRIGHT_CACHE_DAYS)"
    )
    assert [line.split()[:2] for line in lines[3:]] == [
        ["kind", "entries"],
        ["programs", "2"],
        ["tuning", "1"],
        ["total", "3"],
    ]
    assert lines[4].endswith("2023-11-14T22:13:21Z")
    assert lines[6].endswith(f"{size / 1024:.1f} kB")


def test_show_as_json(own, capsys, monkeypatch):
    fill(own)
    monkeypatch.setenv("TILEWRIGHT_CACHE_MB", "3")
    monkeypatch.setenv("TILEWRIGHT_CACHE_DAYS", "5")
    assert run(["cache", "show", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["directory"] == str(own)
    assert (found["max_bytes"], found["max_age_days"]) == (3 << 20, 5)
    assert found["size_bytes"] == sum(path.stat().st_size for path in own.glob("*.entry"))
    assert {kind: each["entries"] for kind, each in found["kinds"].items()} == {
        "programs": 2,
        "tuning": 1,
    }
    assert found["kinds"]["programs"]["first_used"] == "2023-11-14T22:13:20Z"
    assert found["kinds"]["programs"]["last_used"] == "2023-11-14T22:13:21Z"
    assert found["foreign"] == []


@pytest.mark.parametrize("action", ["show", "clear"])
def test_no_cache_yet(own, capsys, action):
    assert run(["cache", action]) == 0
    assert "no entries" in (out := capsys.readouterr().out) or "0 entries removed" in out
    assert not own.exists()  # looking makes nothing


def test_clear_removes_entries_and_nothing_else(own, capsys, tmp_path):
    fill(own)
    (tmp_path / "artefacts").mkdir()
    (tmp_path / "artefacts" / "old").write_text("of the layout before")
    (own / "mine.txt").write_text("mine")
    (own / "link").symlink_to(tmp_path)
    assert run(["cache", "clear"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("3 entries removed, ")
    assert err == (
        f"tilewright cache: not written by Tilewright and left in '{own}': 'link', 'mine.txt'\n"
    )
    assert sorted(path.name for path in own.iterdir()) == ["CACHEDIR.TAG", "link", "mine.txt"]
    assert (tmp_path / "artefacts" / "old").exists()
    assert run(["cache", "clear", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "directory": str(own),
        "removed": 0,
        "removed_bytes": 0,
        "left": 0,
        "foreign": ["link", "mine.txt"],
    }


def test_clear_says_what_it_did_not_remove(own, capsys):
    fill(own)
    name = f"programs-{store.digest('7')}.entry"
    (own / name).write_text("only the name of an entry")
    assert run(["cache", "clear"]) == 1
    assert capsys.readouterr().err == f"tilewright cache: not removed: {name!r}\n"
    assert (own / name).exists()


def test_show_says_why_nothing_is_swept(own, capsys):
    fill(own)
    (own / "mine.txt").write_text("mine")
    assert run(["cache", "show"]) == 0
    assert "not written by Tilewright: 'mine.txt'" in capsys.readouterr().out


def test_a_directory_that_is_not_to_be_trusted(own, capsys):
    fill(own)
    own.chmod(0o777)
    assert run(["cache", "show"]) == 0  # another directory takes its place, which is empty
    out = capsys.readouterr().out
    assert f"directory  {own}-{os.geteuid()}" in out or "no entries" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "pass 'show' or 'clear'; try --help"),
        (["shwo"], "no action 'shwo'; did you mean 'show'?"),
        (["everything"], "no action 'everything'; expected show or clear"),
        (["show", "clear"], "expected one action, found show and clear"),
        (["show", "--all"], "unknown command line argument '--all'; try --help"),
    ],
)
def test_command_lines_that_say_nothing(own, capsys, arguments, message):
    fill(own)
    assert run(["cache", *arguments]) == 2
    assert capsys.readouterr().err == f"tilewright cache: {message}\n"
    assert len(list(own.glob("*.entry"))) == 3


def test_help(capsys):
    assert run(["cache", "--help"]) == 0
    out = capsys.readouterr().out
    assert "TILEWRIGHT_CACHE_DAYS" in out
    assert "tilewright cache show [--json]" in out
