"""The launcher in C: how it is built, what happens without it, and that it converts as `struct`."""

from __future__ import annotations

import math
import struct
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.runtime.cuda.fake_driver import SIZES, Facts, FakeDriver
from tests.runtime.cuda.fake_library import FakeLibrary
from tilewright.runtime.cuda import native as package
from tilewright.runtime.cuda.driver import using
from tilewright.runtime.cuda.launcher import Launcher
from tilewright.runtime.cuda.module import load
from tilewright.runtime.cuda.native import Unavailable, compiled, imported, native, reason
from tilewright.runtime.cuda.packing import NATIVE_KINDS, packed

needs_native = pytest.mark.skipif(native() is None, reason=f"no launcher in C: {reason()}")


def launcher_of(cuda: FakeDriver, *parameters: str) -> Launcher:
    cuda.sizes = [SIZES[each] for each in parameters]
    return Launcher(load(b"cubin", "kernel", 1024), Facts(parameters))


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """As in a process that has not looked for it, with an empty cache."""
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path))
    package._found.cache_clear()
    yield monkeypatch
    package._found.cache_clear()


@needs_native
def test_it_is_compiled_once_and_then_loaded_from_the_cache(fresh: Any) -> None:
    assert native() is not None
    package._found.cache_clear()
    fresh.setenv("CC", "/no/such/compiler")
    assert native() is not None
    assert reason() == ""


@needs_native
def test_a_library_in_the_cache_that_cannot_be_loaded_is_compiled_again(fresh: Any) -> None:
    fresh.setattr(package, "load", lambda kind, key: {"library": b"no library"})
    assert native() is not None


def test_without_a_compiler_launches_go_through_ctypes(fresh: Any) -> None:
    fresh.setenv("CC", "/no/such/compiler")
    assert native() is None
    assert reason().startswith("/no/such/compiler failed: ")
    with using(library := FakeLibrary()):
        launcher = launcher_of(library, "ptr")
        assert launcher.native is None
        launcher.launch(0x77, 3, 1, 1, 0x1000)
    (launch,) = library.launches
    assert (launch.grid, launch.stream) == ((3, 1, 1), 0x77)


def test_no_compiler_no_headers_and_errors_are_named(fresh: Any) -> None:
    fresh.delenv("CC", raising=False)
    fresh.setattr(package.shutil, "which", lambda name: None)
    with pytest.raises(Unavailable, match="there is no C compiler"):
        compiled(b"")
    fresh.undo()
    fresh.setattr(package.sysconfig, "get_paths", lambda: {"include": "/nowhere"})
    with pytest.raises(Unavailable, match=r"Python's headers are not in /nowhere"):
        compiled(b"")


@needs_native
def test_source_that_does_not_compile_is_no_error_of_a_launch(fresh: Any, tmp_path: Path) -> None:
    broken = tmp_path / "broken.c"
    broken.write_text("int main(")
    fresh.setattr(package, "_SOURCE", broken)
    assert native() is None
    assert "failed: " in reason()


def test_it_can_be_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEWRIGHT_NATIVE_LAUNCH", "0")
    assert native() is None
    assert reason() == "TILEWRIGHT_NATIVE_LAUNCH=0"


@needs_native
def test_it_compiles_without_warnings(monkeypatch: pytest.MonkeyPatch) -> None:
    options = ("-std=c11", "-O2", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror")
    allowed = ("-Wno-missing-field-initializers", "-Wno-cast-function-type")
    monkeypatch.setattr(package, "_OPTIONS", (*options, *allowed))
    assert imported(compiled(package._SOURCE.read_bytes())) is not None


@needs_native
def test_a_driver_in_python_has_no_launch_in_c() -> None:
    with using(library := FakeDriver()):
        assert launcher_of(library, "ptr").native is None


VALUES = st.one_of(
    st.integers(-(2**65), 2**65),
    st.integers(-300, 300),
    st.sampled_from([2**n + d for n in (7, 8, 15, 16, 31, 32, 63, 64) for d in (-1, 0, 1)]),
    st.floats(),
    st.booleans(),
    st.none(),
)


@needs_native
@given(st.sampled_from([*NATIVE_KINDS]), VALUES)
def test_numbers_are_converted_as_by_struct(kind: str, value: Any) -> None:
    """Refused, or the same bytes; `careful` takes what both refuse."""
    if kind in ("tensormap", "bf16", "scratch", "profile"):
        return
    code = next(c for c in "QqIiHhBb?dfe" if "QqIiHhBb?dfe".index(c) == NATIVE_KINDS[kind])
    expected: Any
    try:
        expected = struct.pack(f"<{code}", value)
    except (struct.error, OverflowError) as error:
        expected = type(error)
    with using(library := FakeLibrary()):
        launcher = launcher_of(library, kind)
        try:
            launcher.launch(0, 1, 1, 1, value)
            found: Any = library.launches[-1].parameters[0]
        except (struct.error, OverflowError) as error:
            found = type(error)
    assert found == expected or (isinstance(value, float) and math.isnan(value))


@needs_native
def test_many_parameters_and_tensor_maps_arrive() -> None:
    kinds = ("i8", "tensormap", "i1", "f16", "tensormap", "ptr", *["i32"] * 200)
    maps = [bytes([n]) * 128 for n in (1, 2)]
    values = [-3, maps[0], True, 0.5, maps[1], 1 << 40, *range(200)]
    with using(library := FakeLibrary()):
        library.sizes = [SIZES[each] for each in kinds]
        metadata = Facts(kinds, tensor_maps=(None, None))  # type: ignore[arg-type]
        launcher = Launcher(load(b"cubin", "kernel", 1024), metadata)
        assert launcher.launch is launcher.native is not None
        launcher.launch(0, 1, 2, 3, *values)
    (launch,) = library.launches
    for kind, value, bytes_ in zip(kinds, values, launch.parameters, strict=True):
        assert bytes_ == (value if kind == "tensormap" else packed(kind, value))
    assert all(launch.addresses[at] % 64 == 0 for at in (1, 4))


@needs_native
def test_a_kernel_with_too_many_bytes_goes_through_ctypes() -> None:
    with using(library := FakeLibrary()):
        launcher = launcher_of(library, *["i64"] * 600)
        assert launcher.native is None
        launcher.launch(0, 1, 1, 1, *range(600))
    assert library.launches[0].parameters[599] == packed("i64", 599)


@needs_native
def test_launches_of_several_threads_have_their_own_parameters() -> None:
    with using(library := FakeLibrary()):
        launcher = launcher_of(library, "i64", "i64")

        def many(first: int) -> None:
            for n in range(first, first + 500):
                launcher.launch(0, 1, 1, 1, n, -n)

        threads = [threading.Thread(target=many, args=(1000 * t,)) for t in range(4)]
        before = sys.getswitchinterval()
        sys.setswitchinterval(1e-6)
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        sys.setswitchinterval(before)
    pairs = [
        tuple(struct.unpack("<q", each)[0] for each in launch.parameters)
        for launch in library.launches
    ]
    assert sorted(pairs) == sorted(
        (1000 * t + n, -1000 * t - n) for t in range(4) for n in range(500)
    )


@needs_native
def test_nothing_is_leaked_by_launches_that_fail() -> None:
    with using(library := FakeLibrary()):
        launcher = launcher_of(library, "i32")
        value = 1 << 40
        before = sys.getrefcount(value)
        for _ in range(100):
            with pytest.raises(struct.error):
                launcher.launch(0, 1, 1, 1, value)
        assert sys.getrefcount(value) <= before + 1
    assert not library.launches
