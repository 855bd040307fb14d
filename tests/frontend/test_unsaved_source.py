"""Kernels whose text is in no file: exec, compile, ``python -c``, standard input, an IPython cell."""

from __future__ import annotations

import code
import linecache
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright.frontend.unsaved_source import file_of, find_text
from tilewright.ir.diagnostics import CompileError
from tilewright.targets.numpy.api import NumpyFault

ROOT = Path(__file__).resolve().parents[2]

ADD = """\
import tilewright as tw
from tilewright import tl

@tw.jit
def add(x, o, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(o + i, tl.load(x + i, mask=i < n) + 1, mask=i < n)
"""
USE = """
import numpy as np

x, o = np.ones(100, np.float32), np.zeros(100, np.float32)
add[(2,)](x, o, 100, B=64)
print(o.sum())
add[(2,)](x, o[:90], 100, B=64)
"""
TILES = """\
from tilewright import T

@T.prim_func
def double(A: T.Tensor((8,), "float32"), B: T.Tensor((8,), "float32")):
    with T.Kernel(1, threads=32):
        for i in T.serial(8):
            B[i] = A[i] * 2
"""


def added(add: Any) -> float:
    x, o = np.ones(100, np.float32), np.zeros(100, np.float32)
    add[(2,)](x, o, 100, B=64)
    return float(o.sum())


def fault_of(add: Any) -> str:
    with pytest.raises(NumpyFault) as caught:
        add[(2,)](np.ones(100, np.float32), np.zeros(90, np.float32), 100, B=64)
    return str(caught.value)


def test_text_in_a_variable_of_the_caller() -> None:
    names: dict[str, Any] = {}
    text = ADD
    exec(text, names)
    assert added(names["add"]) == 200.0
    file = names["add"].file
    assert fault_of(names["add"]).splitlines()[:3] == [
        f"{file}:7:5: error[TW6101]: store out of bounds: o[90], but o has 90 elements",
        "  7 |     tl.store(o + i, tl.load(x + i, mask=i < n) + 1, mask=i < n)",
        "    |     " + "^" + "~" * 58,
    ]
    assert file.startswith("<string ")


def test_text_as_a_constant_and_moved_to_the_margin() -> None:
    names: dict[str, Any] = {}
    exec(
        textwrap.dedent("""
            import tilewright as tw
            from tilewright import tl

            @tw.jit
            def fill(o, B: tl.constexpr):
                tl.store(o + tl.arange(0, B), 7)
        """),
        names,
    )
    o = np.zeros(16, np.int32)
    names["fill"][(1,)](o, B=16)
    assert o.tolist() == [7] * 16


def test_text_in_a_table_and_compiled_before_it_is_executed() -> None:
    texts = {"add": ADD}
    names: dict[str, Any] = {}
    exec(compile(texts["add"], "generated.py", "exec"), names)
    assert added(names["add"]) == 200.0
    assert names["add"].file.startswith("<generated.py ")


def test_two_texts_of_one_name_keep_their_lines() -> None:
    found: list[Any] = []
    for value in (1, 2):
        text = ADD.replace("+ 1", f"+ {value}")
        names: dict[str, Any] = {}
        exec(text, names)
        found.append(names["add"])
    assert [added(each) for each in found] == [200.0, 300.0]
    assert found[0].file != found[1].file
    assert "mask=i < n) + 1, mask" in fault_of(found[0])
    assert "mask=i < n) + 2, mask" in fault_of(found[1])


def test_the_name_is_that_of_the_text_in_every_process() -> None:
    names, others = dict[str, Any](), dict[str, Any]()
    first, second = ADD, f"{ADD}"
    exec(first, names)
    exec(second, others)
    assert names["add"].file == others["add"].file
    assert file_of(added.__code__) == __file__


def test_tile_kernels() -> None:
    names: dict[str, Any] = {}
    text = TILES
    exec(text, names)
    b = np.zeros(8, np.float32)
    tw.compile(names["double"])(np.arange(8, dtype=np.float32), b)
    assert b.tolist() == [0, 2, 4, 6, 8, 10, 12, 14]


def test_an_error_of_tracing_shows_the_line() -> None:
    text = ADD.replace("tl.arange(0, B)", "tl.arange(0, 63)")
    names: dict[str, Any] = {}
    exec(text, names)
    with pytest.raises(CompileError) as caught:
        added(names["add"])
    assert "  6 |     i = tl.program_id(0) * B + tl.arange(0, 63)\n" in str(caught.value)


def test_a_launch_in_the_text_shows_its_line() -> None:
    text = ADD + "\nadd[(2,)](1)\n"
    with pytest.raises(TypeError) as caught:
        exec(text, {})
    assert "  9 | add[(2,)](1)\n    | ^~~~~~~~~~~~" in str(caught.value)
    assert "  5 | def add(x, o, n, B: tl.constexpr):" in str(caught.value)


def test_texts_that_differ_where_python_does_not_look_are_not_guessed() -> None:
    lines = ["def kernel(n):", "    x: {} = n", "    return x"]
    texts = ["\n".join(lines).format(name) for name in ("bool", "int8")]
    names: dict[str, Any] = {}
    exec(texts[1], names)
    assert find_text(names["kernel"]) is None
    del texts[0]
    found = find_text(names["kernel"])
    assert found is not None
    assert linecache.getline(found, 2) == "    x: int8 = n\n"


def test_a_console_of_pythons() -> None:
    console = code.InteractiveConsole({"tw": tw})
    for line in (*ADD.splitlines(), ""):
        console.push(line)
    assert added(console.locals["add"]) == 200.0


MISSING = {
    "<string>": "Python keeps no text that is given to exec or compile: assign the whole text to a variable of the "
    "function that calls exec ('text = ...; exec(text)'), or save it in a file and import that",
    "<stdin>": "standard input is a pipe, which is read once: save the text in a file and run 'python FILE', or "
    "redirect the file with 'python < FILE'",
    "gone.py": "there is no file 'gone.py' with these lines: restore the file, or define kernel functions in a file, "
    "a notebook, or text registered with linecache",
}


@pytest.mark.parametrize("file", MISSING)
def test_what_cannot_be_found_is_said_with_a_way_out(file: str) -> None:
    names: dict[str, Any] = {}
    exec(compile(ADD.replace("+ 1", "+ 3"), file, "exec"), names)
    with pytest.raises(CompileError) as caught:
        added(names["add"])
    assert str(caught.value) == (
        f"error[TW1007]: the source of add is not available (file '{file}'): {MISSING[file]}"
    )


def test_what_is_typed_at_pythons_prompt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "ps1", ">>> ", raising=False)
    names: dict[str, Any] = {}
    exec(compile(ADD.replace("+ 1", "+ 3"), "<stdin>", "exec"), names)
    with pytest.raises(CompileError, match="typed at its prompt: use IPython or a notebook"):
        added(names["add"])


# -- whole programs --------------------------------------------------------------------------------


def run(arguments: list[str], stdin: Any = subprocess.DEVNULL, text: str | None = None) -> Any:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    return subprocess.run(
        [sys.executable, *arguments],
        stdin=None if text is not None else stdin,
        input=text,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def check_fault(done: Any, file: str) -> None:
    assert done.stdout == "200.0\n", done.stderr
    assert f"{file}:7:5: error[TW6101]: store out of bounds: o[90]" in done.stderr
    assert "  7 |     tl.store(o + i, tl.load(x + i" in done.stderr


def test_python_dash_c() -> None:
    check_fault(run(["-c", ADD + USE]), "<string>")


def test_redirected_standard_input(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(ADD + USE, encoding="utf-8")
    with script.open() as stream:
        check_fault(run(["-"], stream), "<stdin>")


def test_a_pipe_says_what_to_do() -> None:
    done = run(["-"], text=ADD + USE)
    assert done.stdout == ""
    assert (
        f"error[TW1007]: the source of add is not available (file '<stdin>'): {MISSING['<stdin>']}"
        in done.stderr
    )
