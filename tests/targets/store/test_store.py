"""Entries of the disk cache: whole or absent, and checked when they are read."""

import json
import os
import pickle
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.targets import store
from tilewright.targets.store.entries import DAMAGED, _digest, packed, unpacked
from tilewright.targets.store.keys import source_files

from .support import ROOT, SECTIONS, K, key, module_path


def test_what_is_stored_is_loaded(own):
    assert store.load("artefacts", K) is None
    assert store.store("artefacts", K, SECTIONS)
    assert store.load("artefacts", K) == SECTIONS
    assert store.load("programs", K) is None
    names = {path.name for path in own.iterdir()}
    assert names == {"CACHEDIR.TAG", f"artefacts-{K}.entry"}


def test_the_directory_is_tagged_for_backup_programs(own):
    store.store("artefacts", K, SECTIONS)
    assert (
        (own / "CACHEDIR.TAG")
        .read_bytes()
        .startswith(b"Signature: 8a477f597d28d172789f06886806bc55\n")
    )
    assert own.stat().st_mode & 0o777 == 0o700
    (own / "CACHEDIR.TAG").unlink()
    store._unseen_bytes.clear()  # as a new process
    store.store("artefacts", key(1), SECTIONS)
    assert (own / "CACHEDIR.TAG").exists()


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[:-1],
        lambda data: data + b"x",
        lambda data: data.replace(b"first", b"other"),
        lambda data: data.replace(b'["a", 5]', b'["x", 5]'),
        lambda data: data.replace(b'["a", 5], ["empty", 0]', b'["a", 0], ["empty", 5]'),
        lambda data: data[: len(data) // 2],
        lambda data: b"",
    ],
)
def test_a_damaged_entry_is_removed(own, damage):
    store.store("artefacts", K, SECTIONS)
    path = own / f"artefacts-{K}.entry"
    before = path.read_bytes()
    path.write_bytes(damage(before))
    assert path.read_bytes() != before
    assert store.load("artefacts", K) is None
    assert not path.exists()
    assert store.store("artefacts", K, SECTIONS)
    assert store.load("artefacts", K) == SECTIONS


@pytest.mark.parametrize("content", [b"no json\n", b"[1]\n", b"\n\n\n", os.urandom(1000)])
def test_an_entry_that_is_overwritten_by_other_bytes_counts_as_absent(own, content):
    store.store("artefacts", K, SECTIONS)
    (own / f"artefacts-{K}.entry").write_bytes(content)
    assert store.load("artefacts", K) is None
    assert not store.refresh("artefacts", K)
    assert store.store("artefacts", K, SECTIONS)
    assert store.load("artefacts", K) == SECTIONS


def test_an_entry_under_the_name_of_another_is_not_taken_for_it(own):
    store.store("artefacts", key(1), SECTIONS)
    for name in (f"artefacts-{key(2)}.entry", f"programs-{key(1)}.entry"):
        (own / name).write_bytes((own / f"artefacts-{key(1)}.entry").read_bytes())
    assert store.load("artefacts", key(2)) is None
    assert store.load("programs", key(1)) is None
    assert store.load("artefacts", key(1)) == SECTIONS


@pytest.mark.parametrize(
    "given_key", ["../../secret", "/etc/passwd", "", "A" * 64, "k\n", K + "\n"]
)
def test_a_key_that_leads_out_of_the_directory_is_refused(base, given_key):
    base.mkdir()
    (base.parent / "secret").write_bytes(packed("artefacts-../../secret.entry", SECTIONS))
    store.store("artefacts", K, SECTIONS)
    assert store.load("artefacts", given_key) is None
    assert not store.refresh("artefacts", given_key)
    with pytest.raises(ValueError, match="not a digest"):
        store.store("artefacts", given_key, SECTIONS)


def test_a_pickle_in_an_entry_is_not_executed(own, tmp_path):
    class Attack:
        def __reduce__(self):
            return (os.mkdir, (str(tmp_path / "attacked"),))

    payload = pickle.dumps(Attack())
    store.store("artefacts", K, {"a": payload})
    assert store.load("artefacts", K) == {"a": payload}
    (own / f"artefacts-{K}.entry").write_bytes(payload)
    assert store.load("artefacts", K) is None
    assert not (tmp_path / "attacked").exists()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=8,
)


@given(table=JSON, body=st.binary(max_size=20))
def test_a_table_of_anything_with_the_right_digest_raises_nothing(table, body):
    name = f"artefacts-{K}.entry"
    line = f"tilewright-cache-v2 artefacts-{K}\n".encode()
    head = json.dumps([_digest(table, body), table]).encode()
    found = unpacked(name, line + head + b"\n" + body)
    assert found is None or all(isinstance(data, bytes) for data in found.values())


@given(data=st.binary(max_size=200))
def test_any_bytes_raise_nothing(data):
    name = f"artefacts-{K}.entry"
    line = f"tilewright-cache-v2 artefacts-{K}\n".encode()
    assert unpacked(name, data) is None
    assert unpacked(name, line + data) is None
    assert unpacked(name, line + b"[" * 100_000 + data) is None


@given(st.dictionaries(st.text(max_size=10), st.binary(max_size=100), max_size=5))
def test_all_sections_come_back(sections):
    name = f"artefacts-{K}.entry"
    assert unpacked(name, packed(name, sections)) == sections


def test_what_reading_damaged_sections_may_raise():
    for damaged in (b"[" * 100_000, b"\xff", b"{", b"null"):
        with pytest.raises(DAMAGED):
            json.loads(damaged)["head"].decode()


def test_readers_see_all_or_nothing(own):
    """Writers and readers at the same time: no reader gets half a file."""
    contents = [{"data": bytes([number]) * 200_000} for number in range(4)]
    seen: list[bytes] = []
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            if (own / f"artefacts-{K}.entry").exists():
                found = store.load("artefacts", K)
                assert found in contents
                seen.append(found["data"][:1])

    reader = threading.Thread(target=read)
    reader.start()
    for each in contents * 10:
        store.store("artefacts", K, each)
    done.set()
    reader.join()
    assert seen


def test_boundaries_count_in_a_digest():
    assert store.digest("ab", "c") != store.digest("a", "bc")
    assert store.digest("ab") == store.digest(b"ab")
    assert store.our_version() == store.our_version()


# What runs or describes kernels, and the targets whose machine code is not cached by version.
_NO_PART = ("buffers", "cli", "compat", "report", "targets.numpy", "targets.tenstorrent")
_COMPILERS = ("cuda.compile", "hip.compile", "triton.compile")


def test_the_version_counts_every_module_that_compiles():
    """Those of HIP, and what it shares with CUDA, did not count: old programs were found."""
    code = "import sys\n" + "".join(f"import tilewright.targets.{each}\n" for each in _COMPILERS)
    code += "print(*(getattr(each, '__file__', '') for each in sys.modules.values()), sep='\\n')"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": module_path()},
        capture_output=True,
        text=True,
        check=True,
    )
    root = ROOT / "src" / "tilewright"
    loaded = {Path(each) for each in done.stdout.split() if each.startswith(str(root))}
    counted = {Path(each.path) for each in source_files()}
    missing = [str(each.relative_to(root)) for each in loaded - counted]
    names = [each.removesuffix(".py").replace("/", ".") for each in missing]
    without = [each for each in names if not each.startswith((*_NO_PART, "targets.store"))]
    assert set(without) <= {"__init__", "_exports", "_notebook", "_version"}
    assert len(loaded & counted) > 100


def test_a_text_for_triton_is_a_file_in_the_cache(own):
    with store.text_file(K, "module {\n}") as path:
        assert path == own / f"texts-{K}.mlir"
        assert path.read_text().startswith("module {\n}\n// ")
    assert path.exists()
