"""Cost of the text layer per op, beside stock xDSL on the same IR in the same run.

    make bench                      the corpus, five rounds
    python benchmarks/text_layer.py [--rounds N] [--check] [FILE...]

Ours reads and writes Triton's text, locations and aliases included. Stock xDSL reads and writes
the same IR in generic form with its own parser, printer, verifier and canonicaliser; its `arith`,
`scf`, `math` and `cf` are its own, and Triton's ops and types, which it does not know, are ours.
It is verified with our definitions through xDSL's verifier, because its own `arith` refuses
tensors. Every figure is the best of the rounds; ours and stock alternate. `--check` makes the
exit code 1 if a ratio is above its limit.
"""

from __future__ import annotations

import argparse
import io
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from xdsl.context import Context
from xdsl.dialects import arith, cf, math, scf, ub
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.transforms.canonicalize import CanonicalizePass

from tilewright.dialects import DIALECTS, make_context
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.text import parse_source, print_module
from tilewright.ir.verify import verify
from tilewright.passes import PASSES

CORPUS = Path(__file__).parents[1] / "tests" / "corpus" / "ttir"
LIMIT, IMPORT_LIMIT = 1.3, 1.2
_STOCK = {"arith": arith.Arith, "scf": scf.Scf, "math": math.Math, "cf": cf.Cf, "ub": ub.UB}


@dataclass(frozen=True)
class Row:
    stage: str
    ours_us: float
    stock_us: float

    @property
    def ratio(self) -> float:
        return self.ours_us / self.stock_us


def stock_context() -> Context:
    context = Context()
    context.load_dialect(Builtin)
    for name, load in DIALECTS.items():
        if name == "builtin":
            continue
        context.load_dialect(_STOCK[name] if name in _STOCK else load())
    return context


def parse_ours(text: str) -> ModuleOp:
    engine = DiagnosticEngine()
    source = parse_source(make_context(), text, "bench.ttir", engine)
    engine.raise_if_errors()
    assert source is not None
    return source.module


def verify_ours(module: ModuleOp) -> None:
    engine = DiagnosticEngine()
    verify(module, engine)
    engine.raise_if_errors()


def print_stock(module: ModuleOp) -> str:
    stream = io.StringIO()
    Printer(stream=stream, print_generic_format=True, print_debuginfo=True).print_op(module)
    return stream.getvalue()


def canonicalize_ours(module: ModuleOp) -> None:
    PASSES["canonicalize"]()().run(module, DiagnosticEngine())


class Stages:
    """The four stages on one text, ours and stock, with fresh inputs where a stage changes them."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.module = parse_ours(text)
        self.operations = sum(1 for _ in self.module.walk())
        self.generic = print_stock(self.module)
        self.context = stock_context()

    def parse_stock(self) -> ModuleOp:
        return Parser(self.context, self.generic).parse_module()

    def run(self) -> dict[str, tuple[float, float]]:
        verify_ours(self.module)
        stock_copy, our_copy = self.parse_stock(), parse_ours(self.text)
        canonicalize = CanonicalizePass()
        pairs: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
            "parse": (lambda: parse_ours(self.text), self.parse_stock),
            "verify": (lambda: verify_ours(self.module), self.module.verify),
            "print": (
                lambda: print_module(self.module, locations=True),
                lambda: print_stock(self.module),
            ),
            "canonicalize": (
                lambda: canonicalize_ours(our_copy),
                lambda: canonicalize.apply(self.context, stock_copy),
            ),
        }
        return {name: (_seconds(ours), _seconds(stock)) for name, (ours, stock) in pairs.items()}


def _seconds(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def measure(texts: list[str], rounds: int) -> tuple[list[Row], int]:
    stages = [Stages(text) for text in texts]
    operations = sum(stage.operations for stage in stages)
    best: dict[str, list[float]] = {}
    for _ in range(rounds):
        totals: dict[str, list[float]] = {}
        for stage in stages:
            for name, (ours, stock) in stage.run().items():
                total = totals.setdefault(name, [0.0, 0.0])
                total[0] += ours
                total[1] += stock
        for name, (ours, stock) in totals.items():
            kept = best.setdefault(name, [ours, stock])
            kept[:] = [min(kept[0], ours), min(kept[1], stock)]
    rows = [
        Row(name, ours / operations * 1e6, stock / operations * 1e6)
        for name, (ours, stock) in best.items()
    ]
    return rows, operations


def import_seconds(statement: str, rounds: int) -> float:
    """Best wall time of a fresh interpreter that runs `statement`, less an empty one."""

    def once(code: str) -> float:
        return _seconds(lambda: subprocess.run([sys.executable, "-c", code], check=True))

    empty = min(once("pass") for _ in range(rounds))
    return min(once(statement) for _ in range(rounds)) - empty


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    files = options.files or sorted(CORPUS.glob("*.ttir"))
    rows, operations = measure([file.read_text() for file in files], options.rounds)
    print(f"{len(files)} files, {operations} ops, best of {options.rounds} rounds, µs per op\n")
    print(f"{'stage':14}{'tilewright':>12}{'stock xDSL':>12}{'ratio':>8}")
    for row in rows:
        print(f"{row.stage:14}{row.ours_us:12.1f}{row.stock_us:12.1f}{row.ratio:8.2f}")
    ours = import_seconds("import tilewright", options.rounds)
    stock = import_seconds("import xdsl.dialects.builtin", options.rounds)
    print(
        f"\nimport tilewright {ours * 1e3:.0f} ms, import xdsl and builtin {stock * 1e3:.0f} ms,"
        f" ratio {ours / stock:.2f}"
    )
    whole = import_seconds(
        "from tilewright.dialects import DIALECTS; [load() for load in DIALECTS.values()]",
        options.rounds,
    )
    print(f"all dialects of tilewright, xDSL included: {whole * 1e3:.0f} ms")
    within = all(row.ratio <= LIMIT for row in rows) and ours / stock <= IMPORT_LIMIT
    return 0 if within or not options.check else 1


if __name__ == "__main__":
    sys.exit(main())
