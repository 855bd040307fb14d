"""Writes docs/passes.md: what became of every pass of the reference, and each pass of the front
half of the tile level at work.

    python scripts/passes_doc.py            rewrite the page
    python scripts/passes_doc.py --check    exit code 1 if the page is not what this would write

Everything shown is run while the page is made: the IR before and after a pass, the messages of the
checks. A test compares the page with what this makes (`pytest --update-golden` rewrites it).
"""

# ruff: noqa: E501
# IR text is as wide as it is.

from __future__ import annotations

import inspect
import sys
from pathlib import Path
from textwrap import dedent

from tilewright.dialects import make_context
from tilewright.ir.diagnostics import DiagnosticEngine, Severity, pretty_all
from tilewright.ir.passes import Pass, PassClass, parse_pipeline
from tilewright.ir.text import parse_source, print_module
from tilewright.passes import PASSES
from tilewright.passes.reference import REFERENCE, Entry
from tilewright.passes.tile.front_half import FrontHalf

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "passes.md"
SOURCE = "src/tilewright"

_INTRODUCTION = """\
# Passes of the tile level

<!-- Made by scripts/passes_doc.py; `pytest --update-golden tests/test_passes_doc.py` rewrites it. -->

A `T` kernel starts at the tile level: whole tiles are copied, multiplied and reduced, and nothing
depends on a thread. The front half of the pipeline keeps it there. It brings kernels into one
form, checks them, and schedules them; the result computes the same bits as the kernel that was
traced, before and after every pass, which the tests show in the NumPy target.

```
tilewright opt --tile-front-half kernel.mlir          all of it
tilewright opt --normalize-indices kernel.mlir        one pass
tilewright opt --tile-front-half --dump-ir DIR ...    the IR after every pass
tilewright passes tile-front-half                     the passes, in their order
```

"""

_HEADER = """#global = #tile.space<global>
#shared = #tile.space<shared>
#fragment = #tile.space<fragment>
#barrier = #tile.space<barrier>
"""

# Kernels that show what a pass does, without their first lines.
EXAMPLES: dict[str, str] = {
    "bind-target": """
        func.func @kernel(%A: memref<64xf16, #global>) {
          func.return
        }
    """,
    "normalize-indices": """
        func.func @kernel(%A: memref<4x32xf32, #global>, %B: memref<128xf32, #global>) {
          %c32 = arith.constant 32 : index
          %c128 = arith.constant 128 : index
          tile.kernel (%bx) in (1) threads(128) {
            tile.parallel (%i, %j) in (4, 32) {
              %m = arith.muli %i, %c32 : index
              %flat = arith.addi %m, %j : index
              %row = arith.floordivsi %flat, %c32 : index
              %column = arith.remsi %flat, %c32 : index
              %inside = arith.cmpi slt, %flat, %c128 : index
              scf.if %inside {
                %v = memref.load %A[%row, %column] : memref<4x32xf32, #global>
                memref.store %v, %B[%flat] : memref<128xf32, #global>
              }
            }
          }
          func.return
        }
    """,
    "wrap-scalar-fragment-access": """
        func.func @kernel(%x: f32) {
          %c0 = arith.constant 0 : index
          tile.kernel (%bx) in (1) threads(128) {
            %f = tile.alloc "f" : memref<1xf32, #fragment>
            memref.store %x, %f[%c0] : memref<1xf32, #fragment>
          }
          func.return
        }
    """,
    "inject-assumes": """
        func.func @kernel(%A: memref<?xf16, #global>, %blocks: index) {
          tile.kernel (%bx) in (%blocks) threads(128) {
          }
          func.return
        }
    """,
    "check-parallel-races": """
        func.func @kernel(%A: memref<64x16xf32, #global>) {
          tile.kernel (%bx) in (1) threads(128) {
            %row = tile.alloc "row" : memref<64xf32, #fragment>
            tile.parallel (%i, %j) in (64, 16) {
              %v = memref.load %A[%i, %j] : memref<64x16xf32, #global>
              memref.store %v, %row[%i] : memref<64xf32, #fragment>
            }
          }
          func.return
        }
    """,
    "check-buffer-init": """
        func.func @kernel(%A: memref<64x64xf16, #global>, %n: index) {
          tile.kernel (%bx) in (1) threads(128) {
            %a = tile.alloc "a" : memref<64x64xf16, #shared>
            %acc = tile.alloc "acc" : memref<64x64xf32, #fragment>
            tile.pipeline %k = 0 to %n {
              tile.copy %A -> %a : memref<64x64xf16, #global> -> memref<64x64xf16, #shared>
              tile.gemm %a, %a -> %acc : memref<64x64xf16, #shared>, memref<64x64xf16, #shared> -> memref<64x64xf32, #fragment>
            }
          }
          func.return
        }
    """,
    "check-reducers": """
        func.func @kernel(%zero: f32) {
          tile.kernel (%bx) in (1) threads(128) {
            %r = tile.reducer.alloc "r" sum : memref<64xf32, #fragment>
            tile.fill %r, %zero : memref<64xf32, #fragment>, f32
            tile.fill %r, %zero : memref<64xf32, #fragment>, f32
            tile.reducer.finalize %r : memref<64xf32, #fragment>
          }
          func.return
        }
    """,
    "plan-storage-alias": """
        func.func @kernel() {
          tile.kernel (%bx) in (1) threads(128) {
            %spec = tile.storage_alias_spec shared : !tile.storage_alias_spec<shared>
            %qk = tile.alloc "qk" alias %spec : memref<64x64xf32, #shared>
            %p = tile.alloc "p" alias %spec : memref<64x64xf16, #shared>
            %m = tile.alloc "m" alias %spec : memref<64xf32, #shared>
            %right = tile.reuse_group distinct(%p, %m) : (memref<64x64xf16, #shared>, memref<64xf32, #shared>) -> !tile.reuse_group<distinct>
            %all = tile.reuse_group shared(%qk, %right) : (memref<64x64xf32, #shared>, !tile.reuse_group<distinct>) -> !tile.reuse_group<shared>
            tile.set_buffer_overlap %spec, %all : !tile.storage_alias_spec<shared>, !tile.reuse_group<shared>
          }
          func.return
        }
    """,
    "split-guards": """
        func.func @kernel(%c: i1) {
          tile.kernel (%bx) in (1) threads(128) {
            tile.pipeline %k = 0 to 4 num_stages(2) {
              scf.if %c {
                tile.print "one"
                tile.print "two"
              }
            }
          }
          func.return
        }
    """,
    "expand-explicit-unroll": """
        func.func @kernel(%A: memref<64xf32, #global>, %x: f32) {
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %c2 = arith.constant 2 : index
          scf.for %i = %c0 to %c2 step %c1 {
            memref.store %x, %A[%i] : memref<64xf32, #global>
          } {tile.unroll_explicit}
          func.return
        }
    """,
}

_GEMM = """
    func.func @kernel(%A: memref<64x1024xf16, #global>, %B: memref<1024x64xf16, #global>, %C: memref<64x64xf32, #global>) {
      %c64 = arith.constant 64 : index
      %zero = arith.constant 0.0 : f32
      tile.kernel (%bx) in (1) threads(128) {
        %as = tile.alloc "as" : memref<64x64xf16, #shared>
        %bs = tile.alloc "bs" : memref<64x64xf16, #shared>
        %acc = tile.alloc "acc" : memref<64x64xf32, #fragment>
        tile.fill %acc, %zero : memref<64x64xf32, #fragment>, f32
        tile.pipeline %k = 0 to 16 num_stages(2) {
          %i = arith.muli %k, %c64 : index
          %ra = tile.region %A[0, %i] [64, 64] : memref<64x1024xf16, #global> to !tile.region<64x64xf16, #global>
          tile.copy %ra -> %as : !tile.region<64x64xf16, #global> -> memref<64x64xf16, #shared>
          %rb = tile.region %B[%i, 0] [64, 64] : memref<1024x64xf16, #global> to !tile.region<64x64xf16, #global>
          tile.copy %rb -> %bs : !tile.region<64x64xf16, #global> -> memref<64x64xf16, #shared>
          tile.gemm %as, %bs -> %acc : memref<64x64xf16, #shared>, memref<64x64xf16, #shared> -> memref<64x64xf32, #fragment>
        }
        tile.copy %acc -> %C : memref<64x64xf32, #fragment> -> memref<64x64xf32, #global>
      }
      func.return
    }
"""
EXAMPLES["specialize-warps"] = _GEMM
EXAMPLES["plan-pipeline"] = _GEMM
EXAMPLES["expand-pipeline"] = _GEMM
EXAMPLES["check-pipeline"] = _GEMM
EXAMPLES["check-barriers"] = """

    func.func @kernel() {
      %c0 = arith.constant 0 : index
      tile.kernel (%bx) in (1) threads(256) {
        %a = tile.alloc "a" init [128] : memref<1x!nv.mbarrier, #barrier>
        %b = tile.alloc "b" init [128] : memref<1x!nv.mbarrier, #barrier>
        tile.ws custom
        role "one" threads(0 to 128) {
          nv.mbarrier.wait %a[%c0], %c0 : memref<1x!nv.mbarrier, #barrier>, index
          nv.mbarrier.arrive %b[%c0] : memref<1x!nv.mbarrier, #barrier>
        }
        role "two" threads(128 to 256) {
          nv.mbarrier.wait %b[%c0], %c0 : memref<1x!nv.mbarrier, #barrier>, index
          nv.mbarrier.arrive %a[%c0] : memref<1x!nv.mbarrier, #barrier>
        }
      }
      func.return
    }
"""

# What has to run before a pass has something to do, and after it to make the result short.
_BEFORE = {"expand-pipeline": "plan-pipeline", "check-pipeline": "plan-pipeline"}
_AFTER = {"specialize-warps": "canonicalize,cse", "expand-pipeline": "canonicalize,cse"}


def page() -> str:
    """The whole page."""
    parts = [_INTRODUCTION, *_order(), *_sections(), *_table()]
    return "".join(parts).rstrip() + "\n"


def _names() -> list[str]:
    """The passes of the front half with all its checks, each once."""
    order = [each.name for each in FrontHalf(check_races=True, check_pipelines=True).passes()]
    return list(dict.fromkeys(order))


def _order() -> list[str]:
    rows = ["| pass | what it does |\n|---|---|\n"]
    for name in _names():
        shown = f"[`{name}`](#{name})" if name in EXAMPLES else f"`{name}`"
        rows.append(f"| {shown} | {_summary(PASSES[name]())} |\n")
    rows.append(
        "\n`check-parallel-races` and `check-pipeline` run if asked for (`check-races`, "
        "`check-pipelines`), warp\nspecialisation unless told otherwise (`roles=false`).\n\n"
    )
    return rows


def _summary(pass_class: PassClass) -> str:
    return (pass_class.__doc__ or "").strip().splitlines()[0].rstrip(".")


# -- sections ------------------------------------------------------------------------------------


def _sections() -> list[str]:
    return [_section(name) for name in _names() if name in EXAMPLES]


def _section(name: str) -> str:
    pass_class = PASSES[name]()
    text = f"## {name}\n\n{_prose(pass_class)}\n\nIn `{_file(pass_class)}`.\n\n"
    # Spaces are named at the end, so that lines have the numbers that a reader counts.
    source = dedent(EXAMPLES[name]).strip() + "\n" + _HEADER
    before = _run(source, _BEFORE[name])[0] if name in _BEFORE else source
    after, messages = _run(before, ",".join(filter(None, (name, _AFTER.get(name)))))
    if name.startswith("check-"):
        said = messages or "(proved: nothing to report)"
        return f"{text}```mlir\n{_body(before)}```\n\n```\n{said}\n```\n\n"
    return f"{text}before\n\n```mlir\n{_body(before)}```\n\nafter\n\n```mlir\n{_body(after)}```\n\n"


def _prose(pass_class: PassClass) -> str:
    """The paragraphs of the module's docstring, as text."""
    module = inspect.getmodule(pass_class)
    assert module is not None
    lines = (module.__doc__ or "").strip().splitlines()
    shown: list[str] = []
    in_block = False
    for line in lines:
        is_code = line.startswith("    ")
        if is_code and not in_block:
            shown += [*([] if shown and not shown[-1] else [""]), "```"]
        if in_block and not is_code and line:
            while shown and not shown[-1]:
                shown.pop()
            shown += ["```", ""]
        in_block = is_code or (in_block and not line)
        shown.append(line.removeprefix("    ") if is_code else _plain(line))
    if in_block:
        shown.append("```")
    return "\n".join(shown)


def _plain(line: str) -> str:
    """A line of a docstring in the words of Markdown."""
    line = line.replace("``", "`")
    return line[:-1] if line.endswith("::") else line


def _file(pass_class: PassClass) -> str:
    return f"src/{pass_class.__module__.replace('.', '/')}.py"


def _body(text: str) -> str:
    """IR without the declarations of spaces, which are the same everywhere."""
    lines = [line for line in text.splitlines() if not line.startswith("#") or "space<" not in line]
    if lines and lines[0] == "module {":
        lines = [line.removeprefix("  ") for line in lines[1 : lines.index("}")]]
    return "\n".join(lines) + "\n"


def _run(text: str, pipeline: str) -> tuple[str, str]:
    """The module after `pipeline`, and what was said about it."""
    engine = DiagnosticEngine(minimum=Severity.WARNING)
    source = parse_source(make_context(), text, "kernel.mlir", engine)
    engine.raise_if_errors()
    assert source is not None
    for spec in parse_pipeline(pipeline):
        each: Pass = PASSES[spec.name]()()
        each.run(source.module, engine)
    engine.flush()
    messages = pretty_all(engine.diagnostics, engine.sources) if engine.diagnostics else ""
    return print_module(source.module), messages.rstrip()


# -- the table -----------------------------------------------------------------------------------


def _table() -> list[str]:
    rows = [
        "## TileLang's passes\n\n"
        "Every pass of TileLang's pass reference (version 1.0), and where its work is done.\n\n"
        "| pass of the reference | here | remark |\n|---|---|---|\n"
    ]
    rows += [f"| {entry.name} | {_places(entry)} | {entry.note} |\n" for entry in REFERENCE]
    return rows


def _places(entry: Entry) -> str:
    passes = [f"`{name}` (`{_file(PASSES[name]())}`)" for name in entry.passes]
    files = [f"`{SOURCE}/{file}`" for file in entry.files]
    return ", ".join([*passes, *files]) or "–"


def main() -> int:
    text = page()
    if "--check" in sys.argv[1:]:
        return int(PAGE.read_text() != text)
    PAGE.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
