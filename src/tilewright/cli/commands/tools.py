"""Commands around kernels: pages, editors, explanations, stored results, a demonstration."""

from __future__ import annotations

from dataclasses import replace

from tilewright.cli.commands.shared import JSON, TARGET
from tilewright.cli.options import Command, Option

STUDIO = Command(
    "studio",
    "one page: source, IR by pass, code, memory, addresses, timeline, linked",
    ("[flags] FILE.py [arguments of the script]",),
    "Runs a script on the CPU with all checks, compiles its kernels, and writes one page about "
    "them: the source, and linked with it line by line the IR after every pass (with the "
    "difference to the pass before), generated code and machine code, the memory map, addresses, "
    "layouts, the timeline of tasks and barriers, remarks, and what tuners tried. Point at a line, "
    "and everything that came from it lights up. A run with a fault opens at it: the two accesses "
    "on the timeline, the missing order, and the bytes they share. The page is one file and needs "
    "no network.",
    (
        Option("o", "FILE", "the page (the name of the script with .html, in this directory)"),
        Option(
            "serve",
            help="serve the page at http://127.0.0.1:8765/ until Ctrl-C; it is made anew when the "
            "script has changed and the page is loaded again",
        ),
        Option("port", "N", "another port; 0 takes a free one"),
        replace(
            TARGET,
            help="cuda:sm_90a, cuda:sm_80, hip:gfx942, tenstorrent:wormhole, ...; by default the "
            "GPU that a kernel is written for, or cuda:sm_90a",
        ),
        Option("schedules", "N", "run kernels with tasks N times, each in another order (2)"),
        Option("compat", help="redirect `import triton` and `import tilelang` to Tilewright"),
    ),
    (
        "examples/tlx/hopper_gemm_ws.py",
        "examples/tile/attention.py -o attention.html",
        "--target tenstorrent:wormhole examples/tile/gemm.py",
        "--serve my_kernel.py",
    ),
    "0, also if the run has a fault, which is on the page; 2 if the command line or the file is "
    "wrong, so that there is no page; 130 after Ctrl-C.",
)

LSP = Command(
    "lsp",
    "a language server over stdio: errors, addresses and memory in an editor",
    ("[--timeout SECONDS]",),
    "A language server over standard input and output. An editor starts it; there is nothing to "
    "see in a terminal. For files of kernels (*.py that import tilewright, triton or tilelang) and "
    "IR text (*.ttir, *.ttgir, *.mlir) it shows\n\n"
    "   errors and warnings    what 'tilewright check' reports, when a file is opened and saved:\n"
    "                          a script is run, in a process of its own\n"
    "   hover over an access   its address class, whether it coalesces, its bytes, what checks "
    "proved\n"
    "   hover over a buffer    its bytes in shared or tensor memory, and the buffers it shares "
    "them with\n\n"
    "Needs pygls: pip install 'tilewright[editor]'. For Neovim:\n\n"
    '   vim.lsp.start({name = "tilewright", cmd = {"tilewright", "lsp"}, '
    "root_dir = vim.fn.getcwd()})",
    (Option("timeout", "SECONDS", "end runs that take longer (60)"),),
    ("--timeout 120",),
    "0; 1 if pygls is missing; 2 if a flag is wrong.",
    takes_files=False,
)

EXPLAIN = Command(
    "explain",
    "explain a diagnostic code: meaning, example, fix",
    ("CODE... [--json]", "--list [--json]"),
    "Explains diagnostic codes: meaning, example and fix. A code is written TW2023, tw2023 or "
    "2023.",
    (
        Option("list", help="list all codes with their titles"),
        replace(JSON, help="print JSON: an object for each code"),
    ),
    ("tw6101", "--list"),
    "0, or 2 if there is no such code.",
    takes_files=False,
)

CACHE = Command(
    "cache",
    "show or clear the cache of compiled kernels and tuning results",
    ("show [--json]", "clear [--json]"),
    "show prints the cache directory, its limits and its entries by kind; clear removes all "
    "entries, and files that Tilewright did not write stay.\n\n"
    "Compiled kernels and tuning results are cached in the subdirectory tilewright-cache-v2 of "
    "$TILEWRIGHT_CACHE_DIR, by default $XDG_CACHE_HOME/tilewright or ~/.cache/tilewright. The "
    "least recently used entries are removed beyond these limits:\n\n"
    "   TILEWRIGHT_CACHE_MB     total size in megabytes (2048; 0 disables the cache)\n"
    "   TILEWRIGHT_CACHE_DAYS   days since the last use (90)\n\n"
    "Links are not followed. If the directory holds files that Tilewright did not write, only "
    "'clear' removes entries.",
    (replace(JSON, help="print one JSON object"),),
    ("show",),
    "0; 1 if not all entries could be removed; 2 if the command line is wrong or the cache cannot "
    "be read.",
    names=("show", "clear"),
    takes_files=False,
)

DEMO = Command(
    "demo",
    "a tour on the CPU: round trip, memory map, kernels run, checked and broken",
    ("",),
    "A tour on the CPU: IR round trip, passes, memory map, then kernels of tl, T and tlx, each "
    "run, checked, and reported once an access or a barrier is broken, a T kernel on a model of a "
    "Tenstorrent core grid, and one compiled for AMD GPUs. Takes no arguments.",
    (Option("help", help="show this"),),
    ("",),
    "0; 1 if anything that it shows does not hold; 2 if it gets arguments.",
    takes_files=False,
)

SHELLS = ("bash", "zsh", "fish")

COMPLETION = Command(
    "completion",
    "print a shell's completion of commands, flags and their values",
    ("bash|zsh|fish",),
    "Prints a script that completes commands, flags and their values. To have it in every "
    "shell:\n\n"
    "   bash   tilewright completion bash > ~/.local/share/bash-completion/completions/tilewright\n"
    "   zsh    tilewright completion zsh > DIR/_tilewright     with DIR in $fpath\n"
    "   fish   tilewright completion fish > ~/.config/fish/completions/tilewright.fish",
    (Option("help", help="show this"),),
    ("bash",),
    "0, or 2 if there is no such shell.",
    names=SHELLS,
    takes_files=False,
)
