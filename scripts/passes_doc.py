"""Writes docs/passes.md: each pass of `T` kernels at work, from tiles to CUDA, and what became of
every pass of the reference.

    python scripts/passes_doc.py            rewrite the page
    python scripts/passes_doc.py --check    exit code 1 if the page is not what this would write

Everything shown is run while the page is made: the IR before and after a pass, the messages of the
checks. A test compares the page with what this makes (`pytest --update-golden` rewrites it).
"""

# ruff: noqa: E501
# IR text is as wide as it is.

from __future__ import annotations

import importlib.util
import inspect
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from pathlib import Path
from textwrap import dedent
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from scripts.tilelang_passes import REFERENCE, Entry
from tilewright.dialects import make_context
from tilewright.ir.diagnostics import DiagnosticEngine, Severity, pretty_all
from tilewright.ir.passes import Pass, PassClass, parse_pipeline
from tilewright.ir.text import parse_source, print_module
from tilewright.passes import PASSES
from tilewright.passes.amd.pipeline import AmdPipeline
from tilewright.passes.gpu.pipeline import DropAssumes, GpuPipeline
from tilewright.passes.tenstorrent.pipeline import TenstorrentPipeline
from tilewright.passes.tile.pipeline import TilePipeline
from tilewright.targets.cuda.emit.kernel import emit_kernel, kernels_of
from tilewright.targets.tenstorrent.artefact import artefact_of

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "passes.md"
SOURCE = "src/tilewright"

_INTRODUCTION = """\
# Passes of `T` kernels

<!-- Made by scripts/passes_doc.py; `pytest --update-golden tests/test_passes_doc.py` rewrites it. -->

A `T` kernel starts at the tile level: ops copy, multiply and reduce whole tiles, and nothing depends
on a thread. The tile-level passes normalise, check and schedule a kernel; the result computes the same
bits as the traced kernel, before and after every pass, which the tests verify in the NumPy target. The
GPU passes distribute the work over threads and end with functions that are
[printed as CUDA](#a-gemm-through-the-passes). [design/passes.md](design/passes.md) has the contract of
each stage.

```
tilewright opt --tile-pipeline kernel.mlir            the tile-level passes
tilewright opt --normalize-indices kernel.mlir        one pass
tilewright opt --tile-pipeline --dump-ir DIR ...      the IR after every pass
tilewright passes tile-pipeline                       the passes, in their order
tilewright opt --gpu-pipeline kernel.mlir             all passes, for a GPU
tilewright opt --amd-pipeline kernel.mlir             all passes, for an AMD GPU
tilewright compile --target cuda:sm_90a FILE.py       and on to machine code (docs/gpu.md)
```

## Tile level

"""

_GPU_INTRODUCTION = """\
## GPU

These passes are for NVIDIA GPUs (AMD: [below](#amd)). After `lower-tile-ops` the IR is the code of one thread. Each section
shows what the pass changes in a real kernel: `gemm` of `examples/tile/gemm.py` for matrices of 4096 rows
and columns, or another example where that one is unaffected. Lines may be omitted (`...`).

"""

_AMD_INTRODUCTION = """\
## AMD

The pipeline for AMD GPUs consists of the passes above, with the limits of the target, without
those whose subject these GPUs lack. Its passes after the tile level, in order:

"""

_TENSTORRENT_INTRODUCTION = """\
## Tenstorrent

After the tile-level passes that all targets share, these passes assign blocks to cores, arrange tensors
in tiles, lower buffers to circular buffers and split the program of a core into reader, compute and
writer. Each section shows what the pass changes in `matmul_relu` of `examples/tile/gemm_relu.py` for
100 x 64 x 64 on two cores, or in another example where that one is unaffected. Lines may be omitted
(`...`).

"""

_HEADER = """#global = #tile.space<global>
#shared = #tile.space<shared>
#fragment = #tile.space<fragment>
#barrier = #tile.space<barrier>
#tmem = #tile.space<tmem>
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
    "raise-thread-ranges": """
        func.func @kernel(%A: memref<64xf32, #global>, %B: memref<64xf32, #global>) {
          %c128 = arith.constant 128 : index
          tile.kernel (%bx) in (1) threads(256) {
            %s = tile.alloc "s" : memref<64xf32, #shared>
            %tx = gpu.thread_id x
            %first = arith.cmpi slt, %tx, %c128 : index
            scf.if %first {
              tile.copy %A -> %s : memref<64xf32, #global> -> memref<64xf32, #shared>
            }
          }
          func.return
        }
    """,
    "widen-fragments": """
        func.func @kernel(%A: memref<64xf32, #global>) {
          tile.kernel (%bx) in (1) threads(128) {
            %f = tile.alloc "f" : memref<8xf32, #fragment>
            tile.parallel (%i) in (64) {
              %v = memref.load %A[%i] : memref<64xf32, #global>
              memref.store %v, %f[%i] : memref<8xf32, #fragment>
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
    "wrap-block-atomics": """
        func.func @kernel(%next: memref<1xi32, #global>, %T: memref<8xi32, #global>) {
          %c0 = arith.constant 0 : index
          %one = arith.constant 1 : i32
          tile.kernel (%bx) in (4) threads(128) {
            %old = tile.atomic add %next[%c0], %one : memref<1xi32, #global>, i32 -> i32
            memref.store %old, %T[%bx] : memref<8xi32, #global>
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
    "simplify-fills": """
        func.func @kernel(%A: memref<100x64xf16, #global>, %v: f16) {
          tile.kernel (%bx) in (3) threads(128) {
            %c32 = arith.constant 32 : index
            %s = tile.alloc "s" : memref<32x64xf16, #shared>
            %row = arith.muli %bx, %c32 : index
            %r = tile.region %A[%row, 0] [32, 64] : memref<100x64xf16, #global> to !tile.region<32x64xf16, #global>
            tile.copy %r -> %s fill(%v) : !tile.region<32x64xf16, #global> -> memref<32x64xf16, #shared>
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
    "unroll-fragment-loops": """
        func.func @kernel(%A: memref<32x64xf32, #global>) {
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %c2 = arith.constant 2 : index
          %c16 = arith.constant 16 : index
          tile.kernel (%bx) in (1) threads(128) {
            %f = tile.alloc "f" : memref<32x64xf32, #fragment>
            scf.for %s = %c0 to %c2 step %c1 {
              %first = arith.muli %s, %c16 : index
              tile.parallel (%i, %j) in (16, 64) {
                %row = arith.addi %first, %i : index
                %v = memref.load %f[%row, %j] : memref<32x64xf32, #fragment>
                memref.store %v, %A[%row, %j] : memref<32x64xf32, #global>
              }
            }
          }
          func.return
        }
    """,
    "raise-copy-loops": """
        func.func @kernel(%A: memref<512x64xf16, #global>) {
          %c64 = arith.constant 64 : index
          tile.kernel (%bx) in (1) threads(128) {
            %s = tile.alloc "s" : memref<64x64xf16, #shared>
            tile.pipeline %k = 0 to 8 num_stages(2) {
              tile.parallel (%i, %j) in (64, 64) {
                %first = arith.muli %k, %c64 : index
                %row = arith.addi %first, %i : index
                %v = memref.load %A[%row, %j] : memref<512x64xf16, #global>
                memref.store %v, %s[%i, %j] : memref<64x64xf16, #shared>
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
EXAMPLES["version-roles"] = """
    func.func @slots(%A: memref<?x8xf32, #global>, %n: index) attributes {tile.entry} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c8 = arith.constant 8 : index
      tile.kernel (%bx) in (1) threads(64) {
        %a = tile.alloc "a" : memref<8x8xf32, #shared>
        %acc = tile.alloc "acc" : memref<8x8xf32, #fragment>
        %full = tile.alloc "full" init [32] : memref<1x!nv.mbarrier, #barrier>
        %empty = tile.alloc "empty" init [32] : memref<1x!nv.mbarrier, #barrier>
        tile.pipeline %k = 0 to %n num_stages(2) {
          tile.ws custom
          role "group1" threads(32 to 64) {
            %next = arith.addi %k, %c1 : index
            %q = arith.remsi %next, %c2 : index
            nv.mbarrier.wait %empty[%c0], %q : memref<1x!nv.mbarrier, #barrier>, index
            %i = arith.muli %k, %c8 : index
            %r = tile.region %A[%i, 0] [8, 8] : memref<?x8xf32, #global> to !tile.region<8x8xf32, #global>
            tile.async_copy %r -> %a barrier %full[%c0] {instruction = "tma"}
                : !tile.region<8x8xf32, #global> -> memref<8x8xf32, #shared>, memref<1x!nv.mbarrier, #barrier>
            nv.mbarrier.arrive %full[%c0] : memref<1x!nv.mbarrier, #barrier>
          }
          tile.ws custom
          role "group0" threads(0 to 32) {
            %p = arith.remsi %k, %c2 : index
            nv.mbarrier.wait %full[%c0], %p : memref<1x!nv.mbarrier, #barrier>, index
            tile.copy %a -> %acc : memref<8x8xf32, #shared> -> memref<8x8xf32, #fragment>
            nv.mbarrier.arrive %empty[%c0] : memref<1x!nv.mbarrier, #barrier>
          }
        }
      }
      func.return
    }
"""
EXAMPLES["specialize-warps"] = _GEMM
EXAMPLES["plan-pipeline"] = _GEMM
EXAMPLES["expand-pipeline"] = _GEMM
EXAMPLES["check-plans"] = _GEMM
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

EXAMPLES["fold-clears"] = """
    func.func @kernel(%a: memref<64x64xf16, #shared>, %zero: f32) {
      %c0 = arith.constant 0.0 : f32
      tile.kernel (%bx) in (1) threads(128) {
        %c = tile.alloc "c" : memref<64x64xf32, #fragment>
        tile.fill %c, %c0 : memref<64x64xf32, #fragment>, f32
        tile.gemm %a, %a -> %c : memref<64x64xf16, #shared>, memref<64x64xf16, #shared> -> memref<64x64xf32, #fragment>
      }
      func.return
    }
"""
EXAMPLES["insert-expect-tx"] = """
    func.func @kernel(%A: memref<64x32xf16, #global>) {
      %c0 = arith.constant 0 : index
      tile.kernel (%bx) in (1) threads(128) {
        %full = tile.alloc "full" init [128] : memref<1x!nv.mbarrier, #barrier>
        %a = tile.alloc "a" : memref<64x32xf16, #shared>
        tile.async_copy %A -> %a barrier %full[%c0] {instruction = "tma"} : memref<64x32xf16, #global> -> memref<64x32xf16, #shared>, memref<1x!nv.mbarrier, #barrier>
        nv.mbarrier.arrive %full[%c0] : memref<1x!nv.mbarrier, #barrier>
        nv.mbarrier.wait %full[%c0], %c0 : memref<1x!nv.mbarrier, #barrier>, index
      }
      func.return
    }
"""
EXAMPLES["check-thread-sync"] = """
    func.func @kernel(%x: f32) attributes {simt.kernel, simt.threads = 128 : i64} {
      %S = tile.alloc "S" offset 0 : memref<129xf32, #shared>
      %c1 = arith.constant 1 : index
      %tid = gpu.thread_id x
      %next = arith.addi %tid, %c1 : index
      memref.store %x, %S[%tid] : memref<129xf32, #shared>
      %y = memref.load %S[%next] : memref<129xf32, #shared>
      func.return
    }
"""
EXAMPLES["sync-clusters"] = """
    func.func @kernel(%other: i32) {
      %c0 = arith.constant 0 : index
      tile.kernel (%bx) in (4) threads(128) cluster(2) {
        %bar = tile.alloc "bar" init [256] : memref<1x!nv.mbarrier, #barrier>
        nv.mbarrier.arrive %bar[%c0] cta %other : memref<1x!nv.mbarrier, #barrier>
      }
      func.return
    }
"""
EXAMPLES["lower-tmem"] = """
    func.func @kernel() {
      tile.kernel (%bx) in (1) threads(128) {
        %acc = tile.alloc "acc" : memref<128x256xf32, #tmem>
      }
      func.return
    }
"""

# What has to run before a pass has something to do, and after it to make the result short.
_BEFORE = {
    "expand-pipeline": "plan-pipeline",
    "check-plans": "plan-pipeline",
    "check-pipeline": "plan-pipeline",
    "sync-clusters": "lower-barriers",
}
_AFTER = {
    "version-roles": "canonicalize,cse",
    "specialize-warps": "canonicalize,cse",
    "expand-pipeline": "canonicalize,cse",
}


def page() -> str:
    """The whole page."""
    parts = [
        _INTRODUCTION,
        *_order(),
        *_sections(),
        *gpu_part(),
        *amd_part(),
        *tenstorrent_part(),
        *_table(),
    ]
    return "".join(parts).rstrip() + "\n"


def _names() -> list[str]:
    """The tile-level passes with all their checks, each once."""
    order = [each.name for each in TilePipeline(check_races=True, check_pipelines=True).passes()]
    return list(dict.fromkeys(order))


def _order() -> list[str]:
    rows = ["| pass | what it does |\n|---|---|\n"]
    for name in _names():
        shown = f"[`{name}`](#{name})" if name in EXAMPLES else f"`{name}`"
        rows.append(f"| {shown} | {_summary(PASSES[name]())} |\n")
    rows.append(
        "\n`check-parallel-races` and `check-pipeline` are opt-in (`check-races`, "
        "`check-pipelines`), warp\nspecialisation is opt-out (`warp-specialize=false`).\n\n"
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
    # Spaces are named at the end, so that line numbers are those that a reader counts.
    source = dedent(EXAMPLES[name]).strip() + "\n" + _HEADER
    before = _run(source, _BEFORE[name])[0] if name in _BEFORE else source
    after, messages = _run(before, ",".join(filter(None, (name, _AFTER.get(name)))))
    if name.startswith("check-"):
        shown = messages or "(proved: nothing to report)"
        return f"{text}```mlir\n{_body(before)}```\n\n```\n{shown}\n```\n\n"
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
    """A line of a docstring as Markdown."""
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
    """The module after `pipeline`, and its diagnostics."""
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


# -- GPU passes ----------------------------------------------------------------------------------

_COMMON = ("canonicalize", "cse", "dce")
_KERNELS: dict[str, tuple[str, dict[str, int]]] = {
    "gemm": ("gemm", {"M": 4096, "N": 4096, "K": 4096}),
    "persistent_gemm": ("matmul_persistent", {"M": 4096, "N": 4096, "K": 4096}),
    "top_k": ("top_k", {"M": 1000, "N": 64}),
}
"""Examples that show passes at work, the first one that a pass changes: function and sizes."""
_BLACKWELL_KERNEL: tuple[str, dict[str, int]] = (
    "blackwell_gemm",
    {"M": 4096, "N": 4096, "K": 4096},
)
"""The example for passes that change something on sm_100a alone."""
_DIRECT_KERNEL: tuple[str, dict[str, int]] = ("gemm_fp8", {"M": 4096, "N": 4096, "K": 4096})
"""The example, and its function, for passes that change something on gfx950 alone."""
_TENSTORRENT_KERNELS: dict[str, tuple[str, dict[str, Any]]] = {
    "gemm_relu": ("matmul_relu", {"M": 100, "N": 64, "K": 64, "dtype": "bfloat16"}),
    "split_k": ("matmul_split_k", {"M": 64, "N": 64, "K": 128, "split_k": 2}),
}
"""Examples that show passes of the Tenstorrent target: function, sizes and options."""
_TENSTORRENT_OPTIONS: tuple[dict[str, Any], ...] = ({"cores": "2x2", "multicast": "on"},)
"""Options of the pipeline with which other passes change the first example."""
_SHOWN_SOURCES = ("reader.cpp", "compute.cpp", "writer.cpp")
_MAX_WIDTH = 150
_WITHOUT_FILE = (DropAssumes,)
"""Passes defined where they are used."""
_MAX_LINES = 24
_SHOWN_THREADS = 44


def gpu_part() -> list[str]:
    """The passes after the tile level: their order, each at work, and one kernel through all."""
    changes: dict[str, tuple[str, str]] = {}
    stages: list[str] = []
    for example in _KERNELS:
        module = _traced(example)
        first = print_module(module)
        for name, lines in _changes(module, GpuPipeline().passes()):
            changes.setdefault(name, (example, lines))
        if example == "gemm":
            stages = _stages(first, module)
    example, sizes = _BLACKWELL_KERNEL
    module = _traced_function(example, "gemm", sizes)
    for name, lines in _changes(module, GpuPipeline(target="cuda:sm_100a").passes()):
        changes.setdefault(name, (example, lines))
    rows = ["| pass | what it does |\n|---|---|\n"]
    rows += [f"| {_link(each)} | {_summary(type(each))} |\n" for each in gpu_passes()]
    sections = [
        _gpu_section(each, changes.get(each.name)) for each in gpu_passes() if _is_own(each.name)
    ]
    return [_GPU_INTRODUCTION, *rows, "\n", *sections, *stages]


def amd_part() -> list[str]:
    """The passes of AMD's GPUs: their order, and those that no other GPU needs at work."""
    shared = {*_names(), *(each.name for each in GpuPipeline().passes())}
    passes = {each.name: each for each in AmdPipeline().passes()}
    own = {name: each for name, each in passes.items() if name not in shared}
    changes: dict[str, tuple[str, str]] = {}
    order = AmdPipeline().passes()
    last = max(index for index, each in enumerate(order) if each.name in own)
    for example in _KERNELS:
        for name, lines in _changes(_traced(example), order[: last + 1]):
            if name in own:
                changes.setdefault(name, (example, lines))
    example, sizes = _DIRECT_KERNEL
    module = _traced_function(example, example, sizes)
    for name, lines in _changes(module, AmdPipeline(target="hip:gfx950").passes()[: last + 1]):
        if name in own:
            changes.setdefault(name, (example, lines))
    dropped = [each.name for each in gpu_passes() if each.name not in passes]
    shown = [name for name in passes if name not in _names() or name == "dce"]
    return [
        _AMD_INTRODUCTION,
        ", ".join(f"`{name}`" for name in shown) + ".\n\n",
        "Left out: " + ", ".join(f"`{name}`" for name in dropped) + ".\n\n",
        *(_gpu_section(each, changes.get(each.name)) for each in own.values()),
    ]


def tenstorrent_part() -> list[str]:
    """The passes of the Tenstorrent target: their order, each at work, and the kernels."""
    pipeline = TenstorrentPipeline(target="tenstorrent:sim", cores="2x1")
    shared = {*_names(), *(each.name for each in GpuPipeline().passes())}
    passes = {each.name: each for each in pipeline.passes() if each.name not in shared}
    changes: dict[str, tuple[str, str]] = {}
    stages: list[str] = []
    for example, (function, options) in _TENSTORRENT_KERNELS.items():
        module = _traced_function(example, function, options)
        for name, lines in _changes(module, pipeline.passes()):
            if name in passes:
                changes.setdefault(name, (example, _shortened(lines)))
        if example == "gemm_relu":
            sources = artefact_of(module).sources(comments=False)
            shown = [f"```cpp\n// {name}\n{sources[name]}```\n\n" for name in _SHOWN_SOURCES]
            stages = ["## GEMM and ReLU as kernels of a core\n\n", *shown]
    for options in _TENSTORRENT_OPTIONS:
        module = _traced_function("gemm_relu", *_TENSTORRENT_KERNELS["gemm_relu"])
        for name, lines in _changes(module, replace(pipeline, **options).passes()):
            if name in passes:
                changes.setdefault(name, ("gemm_relu", _shortened(lines)))
    rows = ["| pass | what it does |\n|---|---|\n"]
    rows += [f"| {_link(each)} | {_summary(type(each))} |\n" for each in passes.values()]
    sections = [_tenstorrent_section(each, changes.get(each.name)) for each in passes.values()]
    return [_TENSTORRENT_INTRODUCTION, *rows, "\n", *sections, *stages]


def _shortened(lines: str) -> str:
    """Lines without the ends of long attributes."""
    return "\n".join(
        line if len(line) <= _MAX_WIDTH else f"{line[:_MAX_WIDTH]} ..."
        for line in lines.split("\n")
    )


def _tenstorrent_section(each: Pass, change: tuple[str, str] | None) -> str:
    text = f"## {each.name}\n\n{_prose(type(each))}\n\nIn `{_file(type(each))}`.\n\n"
    if change is None:
        return text
    example, lines = change
    where = "" if example == "gemm_relu" else f"in `examples/tile/{example}.py`\n\n"
    return f"{text}{where}```diff\n{lines}\n```\n\n"


def gpu_passes() -> list[Pass]:
    """The passes that only a GPU needs, each once; `gpu-pipeline` is all of them."""
    front = {*_names()}
    found = {each.name: each for each in GpuPipeline().passes()}
    return [each for name, each in found.items() if name not in front or name == "dce"]


def _is_own(name: str) -> bool:
    return name not in _COMMON


def _link(each: Pass) -> str:
    return f"[`{each.name}`](#{each.name})" if _is_own(each.name) else f"`{each.name}`"


def _traced(example: str) -> ModuleOp:
    function, sizes = _KERNELS[example]
    return _traced_function(example, function, sizes)


def _traced_function(example: str, function: str, options: Mapping[str, Any]) -> ModuleOp:
    path = ROOT / "examples" / "tile" / f"{example}.py"
    spec = importlib.util.spec_from_file_location(f"shown_{example}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, function).get_tir(**options).module.clone()


def _changes(module: ModuleOp, passes: Sequence[Pass]) -> Iterator[tuple[str, str]]:
    """What each pass changes in `module`, which is changed."""
    engine = DiagnosticEngine()
    before = print_module(module)
    for each in passes:
        each.run(module, engine)
        engine.raise_if_errors()
        after = print_module(module)
        if after != before and (lines := _difference(before, after)):
            yield each.name, lines
        before = after


def _difference(before: str, after: str) -> str:
    """Removed and added lines; the names of values do not count."""
    old, new = before.splitlines(), after.splitlines()
    matcher = SequenceMatcher(None, [*map(_nameless, old)], [*map(_nameless, new)], autojunk=False)
    shown: list[str] = []
    for group in matcher.get_grouped_opcodes(1):
        if shown:
            shown.append(" ...")
        for kind, first, last, start, stop in group:
            if kind == "equal":
                shown += [f" {line}" for line in new[start:stop]]
                continue
            shown += [f"-{line}" for line in old[first:last]]
            shown += [f"+{line}" for line in new[start:stop]]
    if len(shown) > _MAX_LINES:
        shown = [*shown[:_MAX_LINES], " ..."]
    return "\n".join(shown)


def _nameless(line: str) -> str:
    return re.sub(r"%\w+", "%", line.strip())


def _gpu_section(each: Pass, change: tuple[str, str] | None) -> str:
    prose = _summary(type(each)) + "." if type(each) in _WITHOUT_FILE else _prose(type(each))
    text = f"## {each.name}\n\n{prose}\n\nIn `{_file(type(each))}`.\n\n"
    if change is not None:
        example, lines = change
        where = "" if example == "gemm" else f"in `examples/tile/{example}.py`\n\n"
        return f"{text}{where}```diff\n{lines}\n```\n\n"
    if each.name not in EXAMPLES:
        return text
    source = dedent(EXAMPLES[each.name]).strip() + "\n" + _HEADER
    before = _run(source, _BEFORE[each.name])[0] if each.name in _BEFORE else source
    after, messages = _run(before, each.name)
    if messages:
        return f"{text}```mlir\n{_body(before)}```\n\n```\n{messages}\n```\n\n"
    return f"{text}before\n\n```mlir\n{_body(before)}```\n\nafter\n\n```mlir\n{_body(after)}```\n\n"


def _stages(tile: str, module: ModuleOp) -> list[str]:
    """`gemm` as it was traced, an excerpt at thread level, and the generated CUDA."""
    threads = print_module(module).splitlines()
    start = next(index for index, line in enumerate(threads) if "tile.ws" in line)
    source = emit_kernel(kernels_of(module)[0], comments=False).text
    return [
        "## A GEMM through the passes\n\nThe kernel of `examples/tile/gemm.py`, traced:\n\n",
        f"```mlir\n{_body(tile)}```\n\n",
        "At thread level, from the warp-specialised region on: two consumer warp groups, one producer warp.\n\n",
        "```mlir\n" + "\n".join(threads[start : start + _SHOWN_THREADS]) + "\n    ...\n```\n\n",
        "The generated CUDA, without the functions that wrap single instructions:\n\n",
        f"```cuda\n{source[source.index('extern') :]}```\n\n",
    ]


# -- the table -----------------------------------------------------------------------------------


def _table() -> list[str]:
    rows = [
        "## TileLang's passes\n\n"
        "Every pass of TileLang's pass reference (version 1.0), and its counterpart.\n\n"
        "| TileLang pass | Tilewright | remark |\n|---|---|---|\n"
    ]
    rows += [f"| {entry.name} | {_files(entry)} | {entry.note} |\n" for entry in REFERENCE]
    return rows


def _files(entry: Entry) -> str:
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
