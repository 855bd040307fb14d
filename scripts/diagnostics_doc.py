"""Writes docs/diagnostics.md: how diagnostics look, and one entry for each code of the registry.

    python scripts/diagnostics_doc.py            rewrite the page
    python scripts/diagnostics_doc.py --check    exit code 1 if the page is out of date

The entries come from `tilewright.ir.codes`, the introduction is below. A test compares the page
with what this makes (`pytest --update-golden tests/test_diagnostics_doc.py` rewrites it).
"""

# ruff: noqa: E501
# Lines of the page are as wide as they are.

from __future__ import annotations

import sys
from pathlib import Path

from tilewright.ir.codes.entry import CodeEntry
from tilewright.ir.codes.registry import CODES, SECTIONS

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "diagnostics.md"

INTRODUCTION = """\
# Diagnostics

<!-- Made by scripts/diagnostics_doc.py; `pytest --update-golden tests/test_diagnostics_doc.py` rewrites it. -->

A diagnostic has a severity, a message, a location, notes and usually a code. Passes report to an
engine and continue where they can, so one run can show several errors.

The default output shows the source line, a caret, notes and the calls that led there:

```
bad.ttir:6:24: error: use of value '%same' expects different type than prior uses: 'i64' vs 'i32'
  6 |     %size = arith.muli %same, %four : i64
    |                        ^~~~~
  bad.ttir:5:5: note: prior use here
    5 |     %same = arith.addi %n, %zero : i32
      |     ^~~~~
```

Tools read the one-line form, which is MLIR's (`tilewright-opt -one-line`). It has no codes:

```
kernel.ttir:2:8: error: 'tt.addptr' op all non-scalar operands/results must have the same shape and base type
```

The severities are `error`, `warning` and `remark`; a `note` belongs to the diagnostic before it. After
20 errors the rest is counted, not shown. Where an op has a location in the Python source of a kernel,
the message points there.

In Python, a `DiagnosticEngine` collects what passes report; `engine.raise_if_errors()` raises a
`CompileError` with the text shown above.

## Codes

A code such as TW2023 has one meaning and does not change between releases; messages may. Each
[entry below](#all-codes) has the meaning, an example and the fix. The command line prints it:

```
tilewright explain TW2023        the entry of a code; tw2023 and 2023 work, too
tilewright explain --list        all codes with their titles
tilewright explain --json 2023   as JSON
```

The first two digits name the subject:

| codes | subject |
|---|---|
| TW10xx | kernel languages (`tl`, `tlx`, `T`) and IR |
| TW20xx | layouts |
| TW30xx | choice of instructions; races and uninitialised reads of tile kernels |
| TW40xx | pipelining, warp specialisation, barriers, synchronisation |
| TW50xx | shared memory, registers, storage aliasing |
| TW60xx | targets, launches, host code |
| TW61xx | errors found by a run on the host |
| TW62xx | compilation for GPUs |
| TW70xx, TW71xx, TW72xx | Tenstorrent |
| TW75xx | AMD GPUs |
| TW90xx | internal compiler errors |

Two codes stand for many messages. [TW1033](#tw1033) is IR that violates a rule of an op, as written
or as a kernel requests it; the rule follows the name of the op. [TW9002](#tw9002) is IR that becomes
invalid after a pass, which is an internal compiler error.

A data race between iterations of one `T.Parallel` is an error of the kernel: [TW3030](#tw3030) or
[TW3031](#tw3031), with both iterations and the element. Any other race between threads of a compiled
kernel is [TW4081](#tw4081) in user-defined roles and [TW9021](#tw9021) elsewhere.

## Expecting a diagnostic in a test

Under `--verify-diagnostics` a comment states what must be reported, and on which line:

```mlir
// expected-error @+1 {{must have the same shape and base type}}
%0 = tt.addptr %p, %i : tensor<8x!tt.ptr<f32>>, tensor<4xi32>
```

`expected-warning`, `expected-remark` and `expected-note` work alike; `expected-error-re` allows regular
expressions in double braces inside the text. A note that is reported must be expected as well. The text
between the braces must occur in the message. `@+N` and `@-N` count lines from the comment, `@above` and
`@below` name the nearest line without an expectation; otherwise the line of the comment is meant. The
run fails if an expected diagnostic is missing or an unexpected one is reported.

## All codes

"""


def page() -> str:
    """The whole page."""
    return INTRODUCTION + "\n".join(_section(*each) for each in SECTIONS.items())


def _section(title: str, entries: tuple[CodeEntry, ...]) -> str:
    rows = [
        f"| [{each.code}](#{each.code.lower()}) | {each.severity} | {each.title} |\n"
        for each in entries
    ]
    table = "".join(["| code | severity | title |\n|---|---|---|\n", *rows])
    return f"## {title}\n\n{table}\n" + "\n".join(map(_entry, entries))


def _entry(entry: CodeEntry) -> str:
    return (
        f"### {entry.code}\n\n"
        f"**{entry.title}** ({entry.severity}). {entry.meaning}\n\n"
        f"```\n{entry.example}\n```\n\n"
        f"Fix: {entry.fix}\n"
    )


def main() -> int:
    text = page()
    if "--check" in sys.argv[1:]:
        return int(PAGE.read_text() != text)
    PAGE.write_text(text)
    sys.stdout.write(f"{len(CODES)} codes\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
