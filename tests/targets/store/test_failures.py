"""A cache costs time, never results: full and read-only disks, other users, hostile entries."""

import errno
import os
import shutil
import subprocess
import sys
import time
from functools import cache
from pathlib import Path

import pytest

from tilewright.targets import store
from tilewright.targets.cuda.artefact import PROGRAMS
from tilewright.targets.metadata import KernelMetadata
from tilewright.targets.store import directory as directories
from tilewright.targets.store.directory import open_directory
from tilewright.targets.store.eviction import clear
from tilewright.targets.store.listing import list_files
from tilewright.targets.triton.artefact import read_artefact

from .support import SECTIONS, K, fill, key, module_path, numbers

# -- real disks ----------------------------------------------------------------------------------


@cache
def no_mounts() -> str | None:
    """Why this user can mount nothing, in a namespace of its own."""
    if shutil.which("unshare") is None:
        return "no unshare(1) on this machine"
    command = ["unshare", "-rm", "mount", "-t", "tmpfs", "none", "/mnt"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return f"user namespaces cannot mount here: {done.stderr.strip()}" if done.returncode else None


def on_disk(base: Path, program: str, *, size: str, then: str = "true") -> list[str]:
    """The lines that `program` prints with a file system of `size` bytes at `base`.

    Its first part, up to ``---``, runs before `then`.
    """
    if reason := no_mounts():
        pytest.skip(reason)
    base.mkdir()
    first, _, second = program.rpartition("---")
    script = f"""set -e
mount -t tmpfs -o size={size},mode=0755 none "$1"
"$2" -c "$3"
{then.format(base='"$1"')}
"$2" -c "$4"
find "$1" -name 'draft-*' | sed 's/^/draft left: /'
"""
    environment = {
        **os.environ,
        "PYTHONPATH": module_path(),
        "TILEWRIGHT_CACHE_DIR": str(base),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    command = ["unshare", "-rm", "sh", "-c", script, "sh", str(base), sys.executable, first, second]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return (done.stdout + done.stderr).splitlines()


TILE = """
import warnings
warnings.simplefilter("always")
from tests.passes.gpu.features import FEATURES
from tilewright.targets.cuda.artefact import PROGRAMS
from tilewright.targets.cuda.settings import Settings
for fast in (False, True):
    program = PROGRAMS.compiled(FEATURES["a_choice"].func.module, Settings(fast_math=fast))
    assert all(each.cubin[:4] == bytes([127]) + b"ELF" for each in program.kernels.values())
    print("compiled")
"""
TL = """
import warnings
warnings.simplefilter("always")
from tests.targets.triton.support import SCALE, parse
from tilewright.targets.triton.compile import compile_module
for warps in (4, 8):
    artefact = compile_module(parse(SCALE), capability=90, num_warps=warps)
    assert artefact.cubin[:4] == bytes([127]) + b"ELF"
    print("compiled")
"""


def summary(lines):
    """How often something was compiled, and the warnings."""
    said = [line.partition("warning[")[2] for line in lines if "RuntimeWarning" in line]
    assert not [line for line in lines if line.startswith("draft left")]
    return lines.count("compiled"), said


def test_kernels_compile_while_the_disk_is_full(base):
    count, said = summary(on_disk(base, TILE, size="8k"))
    assert count == 2
    (message,) = said
    assert message.startswith(f"TW6212]: cache directory '{base}' is not writable:")
    assert "No space left on device" in message
    assert "TILEWRIGHT_CACHE_DIR to another directory" in message


def test_kernels_of_tl_compile_while_the_disk_is_full(base):
    pytest.importorskip("triton", reason="the machine code is made by Triton")
    count, said = summary(on_disk(base, TL, size="8k"))
    assert count == 2
    (message,) = said
    assert "No space left on device" in message


def test_a_read_only_cache_is_read_and_warned_about_once(base):
    program = f"""
from tilewright.targets import store
assert store.store("artefacts", "{key(0)}", {{"a": b"1"}})
---
{TILE}
from tilewright.targets import store
assert store.load("artefacts", "{key(0)}") == {{"a": b"1"}}
assert store.refresh("artefacts", "{key(0)}")
"""
    lines = on_disk(base, program, size="1m", then="mount -o remount,bind,ro {base}")
    count, said = summary(lines)
    assert count == 2
    (message,) = said
    assert "Read-only file system" in message


# -- the same where nothing can be mounted -----------------------------------------------------------


def test_a_write_that_finds_no_space_leaves_no_draft(own, monkeypatch):
    store.store("artefacts", key(0), SECTIONS)
    fdopen = os.fdopen

    class Full:
        def __init__(self, file):
            self.file = file

        def __enter__(self):
            return self

        def __exit__(self, *_):
            self.file.close()

        def write(self, data):
            self.file.write(data[:10])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch, pytest.warns(RuntimeWarning) as caught:
        patch.setattr(directories.os, "fdopen", lambda *given: Full(fdopen(*given)))
        assert not store.store("artefacts", key(1), SECTIONS)
        assert not store.store("artefacts", key(2), SECTIONS)
    assert len(caught) == 1
    assert sorted(path.name for path in own.iterdir()) == sorted(
        ["CACHEDIR.TAG", f"artefacts-{key(0)}.entry"]
    )
    assert store.store("artefacts", key(1), SECTIONS)
    assert store.load("artefacts", key(1)) == SECTIONS


def test_a_directory_that_cannot_be_made_costs_no_result(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path / "file" / "cache"))
    with pytest.warns(RuntimeWarning, match=r"TW6212.*Not a directory"):
        assert not store.store("artefacts", K, SECTIONS)
    assert store.load("artefacts", K) is None
    with store.text_file(K, "module {}") as path:
        assert path.read_text() == "module {}"
    assert not path.parent.exists()


def test_a_directory_that_is_removed_meanwhile_is_made_again(own, monkeypatch):
    store.store("artefacts", key(0), SECTIONS)
    write = directories.Directory.write

    calls = []

    def removed(self, name, data):
        calls.append(name)
        if len(calls) == 1:
            shutil.rmtree(own)
        write(self, name, data)

    monkeypatch.setattr(directories.Directory, "write", removed)
    assert store.store("artefacts", key(1), SECTIONS)
    assert numbers(own, 2) == [1]
    assert (own / "CACHEDIR.TAG").exists()


# -- other users ---------------------------------------------------------------------------------


@pytest.fixture
def give_away():
    """Lets a path belong to another user than the one who runs this."""
    if os.geteuid() != 0:
        pytest.skip("only root can give a file to another user")
    return lambda path: os.chown(path, 12345, -1)


def test_an_entry_of_another_user_is_neither_read_nor_removed(own, give_away):
    store.store("artefacts", K, SECTIONS)
    path = own / f"artefacts-{K}.entry"
    give_away(path)
    assert store.load("artefacts", K) is None
    assert not store.refresh("artefacts", K)
    with open_directory(own.parent) as directory:
        assert list_files(directory).foreign == (path.name,)
        assert clear(directory).files == 0
    assert path.exists()


def test_a_directory_of_another_user_is_not_used(base, own, give_away):
    store.store("artefacts", key(0), SECTIONS)
    give_away(own)
    assert store.load("artefacts", key(0)) is None
    assert store.store("artefacts", key(1), SECTIONS)
    assert store.load("artefacts", key(1)) == SECTIONS
    assert numbers(own, 2) == [0]
    assert numbers(base / f"tilewright-cache-v2-{os.geteuid()}", 2) == [1]


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o722])
def test_a_directory_that_others_can_write_is_not_used(base, own, mode):
    store.store("artefacts", key(0), SECTIONS)
    own.chmod(mode)
    assert store.load("artefacts", key(0)) is None
    assert store.store("artefacts", key(1), SECTIONS)
    assert numbers(own, 2) == [0]
    second = base / f"tilewright-cache-v2-{os.geteuid()}"
    second.chmod(mode)
    with pytest.warns(RuntimeWarning, match=f"can be written by other users .mode 0{mode:o}"):
        assert not store.store("artefacts", key(2), SECTIONS)


def test_an_entry_that_others_can_write_is_not_read(own):
    store.store("artefacts", K, SECTIONS)
    (own / f"artefacts-{K}.entry").chmod(0o666)
    assert store.load("artefacts", K) is None
    assert store.store("artefacts", K, SECTIONS)
    assert store.load("artefacts", K) == SECTIONS
    assert (own / f"artefacts-{K}.entry").stat().st_mode & 0o777 == 0o600


# -- hostile entries -----------------------------------------------------------------------------


def test_an_entry_without_end_is_not_read_into_memory(own):
    store.store("artefacts", K, SECTIONS)
    with (own / f"artefacts-{K}.entry").open("r+b") as file:
        file.truncate(1 << 40)
    start = time.perf_counter()
    assert store.load("artefacts", K) is None
    assert time.perf_counter() - start < 1


def test_a_pipe_under_the_name_of_an_entry_does_not_block(own):
    store.store("artefacts", key(0), SECTIONS)
    os.mkfifo(own / f"artefacts-{K}.entry")
    assert store.load("artefacts", K) is None


FACTS = KernelMetadata("k", 90, 128, 0, ("ptr",)).to_json().encode()
WHOLE = {"facts": FACTS, "remarks": b"[]", "names": b'["ptx", "cubin"]', "code": b"\x7fELF"}
NONSENSE = (b"", b"\xff", b"null", b"3", b"[1]", b"{}", b'{"a": 1}', b'"text"', b"[" * 100_000)


@pytest.mark.parametrize("content", NONSENSE, ids=lambda each: repr(each[:8]))
@pytest.mark.parametrize("section", ["facts", "remarks", "names"])
def test_an_artefact_that_holds_something_else_is_absent(section, content):
    store.store("stages", K, {})
    store.store("artefacts", K, WHOLE)
    assert read_artefact(K) is not None
    store.store("artefacts", K, {**WHOLE, section: content})
    found = read_artefact(K)
    assert found is None or (section, found.remarks) == ("remarks", ())


@pytest.mark.parametrize("content", NONSENSE, ids=lambda each: repr(each[:8]))
def test_stages_that_hold_something_else_are_no_longer_there(content):
    store.store("artefacts", K, WHOLE)
    store.store("stages", K, {"ptx": content})
    found = read_artefact(K)
    assert found is not None
    assert found.cubin == b"\x7fELF"
    with pytest.raises(RuntimeError, match="no longer in the disk cache"):
        found.text("ptx")


@pytest.mark.parametrize("content", NONSENSE, ids=lambda each: repr(each[:8]))
def test_a_program_that_holds_something_else_is_absent(content):
    store.store("programs", K, {"head": content})
    assert PROGRAMS.read(K) is None


def test_a_kernel_entry_does_not_lead_out_of_the_cache(own):
    from tilewright.runtime.pointer.gpu import _stored

    for content in (b"../../x", b"/etc/passwd", b"\xff\xfe", b"", K.encode()):
        store.store("kernels", K, {"artefact": content})
        assert _stored(K) is None
    store.store("kernels", K, {})
    assert _stored(K) is None


def test_entries_are_listed_oldest_use_first(own):
    fill(own, 3, size=10)
    store.load("artefacts", key(0))
    with open_directory(own.parent) as directory:
        names = [each.name for each in list_files(directory).stored]
    assert names == [f"artefacts-{key(n)}.entry" for n in (1, 2, 0)]
