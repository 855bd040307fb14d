"""Write docs/cli.md from the declarations of the commands.

python scripts/cli_doc.py            rewrites the page
python scripts/cli_doc.py --check    exits with 1 if it is not current
"""

from __future__ import annotations

import sys
from pathlib import Path

from tilewright.cli.commands import BY_NAME, COMMANDS, KERNEL_TOOLS, OPT
from tilewright.cli.languages import LANGUAGES
from tilewright.cli.support import INPUTS, TARGETS, of_input, of_target

PAGE = Path(__file__).parents[1] / "docs" / "cli.md"

INTRODUCTION = """\
# The command line

{commands}

`{tools}` take every kernel: a script (`FILE.py`) with kernels of `tl`, `tlx` or `T`, a script
that imports Triton or TileLang (`--compat`), or IR text (`FILE.ttir`, `FILE.ttgir`,
`FILE.mlir`; `-` is standard input). A script is run like a script: `run`, `check`, `analyze`
and `tune` run its kernels on the CPU, or on the GPU that has its arrays; `memory`, `layout` and
`compile` stop each launch where it would begin, so no GPU is needed. Flags stand before the
script, those of `memory`, `layout`, `compile`, `tune` and `studio` also directly after it;
arguments of the script follow. One that looks like a flag of the command gets a note, unless `--`
is before it.
`FILE:NAME` and `--kernel NAME` choose a kernel.

## What takes what

Without a target:

{inputs}

Scripts with `--target`:

{targets}

Each cell is a test. IR text on pointers is raised to tiles where tiles are needed.

## Exit codes

| code | meaning |
|---|---|
| 0 | what was requested was done, and nothing is wrong |
| 1 | a kernel is wrong: it does not compile, a check found something, a claim is refuted |
| 2 | the command line or the file is wrong, or a package is not installed |
| 3 | the tool has no result for a kernel, and prints the reason |
| 130 | Ctrl-C |

`run` and `check` end with the code of the script if it has one. After Ctrl-C one line has the
kernel and its line, and no file is half-written: `interrupted in gemm, gemm.py:41
(bench.py:60)`.

## Output

Results go to standard output, everything else to standard error. `--json` prints a result for
programs: what a script prints is on standard error then. On a terminal errors have colours (not
with `NO_COLOR`), and work that takes long shows how much of it is done. `tilewright completion
bash|zsh|fish` prints a script that completes commands, flags and targets.

The program has no dependency for its command line: `tilewright --help` takes as long as
Python's own start.

## Tuned configurations

```
$ tilewright tune matmul.py -o tuned.json
$ TILEWRIGHT_TUNING_TABLE=tuned.json python matmul.py
```

`tune` runs a script whose kernels are under `tw.autotune`, and tries their configurations for
the arguments of each launch. For `T` kernels a model orders them first (MMA and copy rates,
waves of blocks, bytes in flight), and `--top N` measures only the first N; for Tenstorrent a
cost model decides. `--jobs N` and `--cluster tcp://...` measure in other processes ([many
machines](many-machines.md)); several on one GPU disturb each other.

The table is JSON with one line for each kernel, set of arguments and hardware, sorted, so it
can be committed and merged. With `TILEWRIGHT_TUNING_TABLE`, or inside of `with
tw.tuning_table("tuned.json"):`, tuned kernels take their configurations from it, and measure
nothing. A row is used on the hardware of its times; on a computer without a GPU that of any
hardware, so that what is checked is what is launched.

"""


def page() -> str:
    """The whole page."""
    head = INTRODUCTION.format(
        commands=_table(
            ("command", ""), [(f"[`{each.name}`](#{each.name})", each.summary) for each in COMMANDS]
        ),
        tools="`, `".join(each.name for each in KERNEL_TOOLS),
        inputs=_support(INPUTS, of_input),
        targets=_support(TARGETS, of_target, code=True),
    )
    return head + "\n".join(_section(name) for name in BY_NAME)


def _support(columns, support, *, code: bool = False) -> str:
    """One row for each command and language; languages of equal rows share one."""
    rows: list[tuple[str, ...]] = []
    for command in KERNEL_TOOLS:
        by_cells: dict[tuple[str, ...], list[str]] = {}
        for language in LANGUAGES:
            cells = tuple(str(support(command.name, language, each)) for each in columns)
            by_cells.setdefault(cells, []).append(f"`{language}`")
        for cells, languages in by_cells.items():
            rows.append((f"`{command.name}`", ", ".join(languages), *cells))
    titles = tuple(f"`{each}`" if code else each for each in columns)
    return _table(("command", "kernels", *titles), rows)


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _section(name: str) -> str:
    command = BY_NAME[name]
    if command is OPT:
        return "## opt\n\nRuns passes on IR text, with the flags of `mlir-opt`: [opt.md](opt.md).\n"
    return f"## {name}\n\n```\n{command.help_text(f'tilewright {name}')}```\n"


def main() -> int:
    text = page()
    if "--check" in sys.argv[1:]:
        return int(not PAGE.exists() or PAGE.read_text() != text)
    PAGE.write_text(text)
    sys.stdout.write(f"{len(COMMANDS)} commands\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
