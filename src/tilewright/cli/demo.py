"""``tilewright demo``: a flash-attention kernel, as Triton's front end wrote it, goes through.

Shown: the text comes back byte for byte; canonicalisation, CSE and dead-code elimination make it
smaller and keep every source line; an error gets a message with its location; the memory of a
kernel that aliases its storage is planned, proved and drawn; kernels in all three languages are
run, checked and broken; one of them is compiled for Tenstorrent and runs on a model of it; one
becomes code objects for AMD GPUs.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from tilewright.cli import demo_hip, demo_kernel, demo_tenstorrent, demo_tile, demo_tlx, memory
from tilewright.cli.commands import DEMO
from tilewright.dialects import make_context
from tilewright.ir.diagnostics import DiagnosticEngine, pretty_all, resolve
from tilewright.ir.passes import Pipeline, parse_pipeline
from tilewright.ir.text import parse_source, print_module
from tilewright.ir.verify import verify
from tilewright.passes import PASSES

_PIPELINE = "canonicalize,cse,dce"
_EXAMPLE = "fa_forward_2slices_bf16_d128.mlir"
_KERNEL = "attention.ttir"
_SCRIPT = "attention.py"
_TILE_SCRIPT = "gemm_relu.py"
_TLX_SCRIPT = "hopper_gemm_ws.py"
_TENSTORRENT_SCRIPT = "gemm.py"


def run(arguments: Sequence[str], program: str) -> int:
    """Run the demonstration; returns 0 if everything it shows holds."""
    if arguments:
        wants_help = arguments[0] in ("-h", "--help")
        (sys.stdout if wants_help else sys.stderr).write(DEMO.help_text(program))
        return 0 if wants_help else 2
    text = files("tilewright.cli").joinpath("data", _KERNEL).read_text()
    same = _show_round_trip(text)
    _show_passes(text)
    _show_error(text)
    drawn = _show_memory()
    ran = _show_run()
    split = _show_tile()
    checked = _show_tlx()
    modelled = _show_tenstorrent()
    compiled = _show_hip()
    return 0 if all((same, drawn, ran, split, checked, modelled, compiled)) else 1


def _print(text: str = "") -> None:
    sys.stdout.write(text + "\n")


def _parse(text: str, engine: DiagnosticEngine) -> ModuleOp:
    source = parse_source(make_context(), text, _KERNEL, engine)
    engine.raise_if_errors()
    assert source is not None
    return source.module


def _show_round_trip(text: str) -> bool:
    engine = DiagnosticEngine()
    _parse(text, engine)  # the first parse also imports the dialects
    start = time.perf_counter()
    module = _parse(text, engine)
    parsed = time.perf_counter()
    verify(module, engine)
    engine.raise_if_errors()
    verified = time.perf_counter()
    printed = print_module(module, locations=True)
    done = time.perf_counter()
    operations = sum(1 for _ in module.walk())
    same = printed == text
    _print(
        f"1. {_KERNEL}: {len(text.splitlines())} lines, {operations} ops, from Triton's front end"
    )
    _print(
        f"   parse {_ms(parsed - start)}  verify {_ms(verified - parsed)}  "
        f"print {_ms(done - verified)}"
    )
    _print(f"   text out {'==' if same else '!='} text in, locations included")
    _print()
    return same


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.1f} ms"


def _show_passes(text: str) -> None:
    engine = DiagnosticEngine()
    module = _parse(text, engine)
    _print(f"2. {_PIPELINE}")
    pipeline = Pipeline.build(parse_pipeline(_PIPELINE), PASSES)
    for each in pipeline.passes:
        before = sum(1 for _ in module.walk())
        start = time.perf_counter()
        each.run(module, engine)
        elapsed = time.perf_counter() - start
        engine.raise_if_errors()
        verify(module, engine)
        engine.raise_if_errors()
        after = sum(1 for _ in module.walk())
        _print(f"   {each.name:14} {before:4} -> {after:4} ops  {_ms(elapsed)}")
    lines = {
        position.line
        for op in module.walk()
        if (position := resolve(op.location).primary) is not None
    }
    unplaced = sum(resolve(op.location).primary is None for op in module.walk())
    _print(f"   ops left point at {len(lines)} lines of attention.py; {unplaced} have no line")
    common = Counter(op.name for op in module.walk()).most_common(6)
    _print("   " + "  ".join(f"{name} {count}" for name, count in common))
    _print()


def _show_error(text: str) -> None:
    wrong = text.replace("tt.dot %q,", "tt.dot %k_tile,", 1)
    engine = DiagnosticEngine()
    parse_source(make_context(), wrong, _KERNEL, engine)
    _print("3. the same text with a wrong operand:")
    for line in pretty_all(engine.diagnostics, engine.sources).splitlines():
        _print("   " + line)


def _show_run() -> bool:
    example = _example("tl", _SCRIPT)
    if example is None:
        return True
    _print()
    _print(f"5. {_SCRIPT}, a kernel in Python, on this machine:")
    return demo_kernel.show(example, _print)


def _show_tile() -> bool:
    example = _example("tile", _TILE_SCRIPT)
    if example is None:
        return True
    _print()
    _print(f"6. {_TILE_SCRIPT}, a kernel in T, on this machine:")
    return demo_tile.show(example, demo_kernel.load, _print)


def _show_tlx() -> bool:
    example = _example("tlx", _TLX_SCRIPT)
    if example is None:
        return True
    _print()
    _print(f"7. {_TLX_SCRIPT}, a kernel in tlx for Hopper, checked on this machine:")
    return demo_tlx.show(example, _print)


def _show_tenstorrent() -> bool:
    example = _example("tile", _TENSTORRENT_SCRIPT)
    if example is None:
        return True
    _print()
    _print(f"8. {_TENSTORRENT_SCRIPT}, a kernel in T for Tenstorrent, on a model of a Wormhole:")
    return demo_tenstorrent.show(example, demo_kernel.load, _print)


def _show_hip() -> bool:
    example = _example("tile", _TILE_SCRIPT)
    if example is None:
        return True
    _print()
    _print(f"9. {_TILE_SCRIPT}, compiled for AMD GPUs (no speed is claimed, none was run on):")
    return demo_hip.show(example, demo_kernel.load, _print)


def _show_memory() -> bool:
    example = _example("storage_alias", _EXAMPLE)
    if example is None:
        return True
    _print()
    _print(f"4. the memory map of {_EXAMPLE}:")
    _print()
    return memory.run([str(example)], "tilewright memory") == 0


def _example(kind: str, name: str) -> Path | None:
    """An example in this installation, or in the checkout it runs from."""
    directories = (Path(__file__).parents[1] / "examples", Path(__file__).parents[3] / "examples")
    found = (directory / kind / name for directory in directories)
    return next((file for file in found if file.is_file()), None)
