"""How many kernels on pointers are raised to tiles, and why the others are not.

    python -m scripts.raise_survey                 all of them, refusals by code
    python -m scripts.raise_survey --list          each refused kernel with its reasons
    python -m scripts.raise_survey --seconds 0.1   kernels that take longer than that (CPU time)

The kernels: those that `examples/tl` launch, the dump kernels traced by our front end (they need
Triton's types), and the texts of `tests/corpus/ttir`.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np

from tilewright.dialects import make_context
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.text import parse_source
from tilewright.passes.tile.raise_to_tile import NotRaised, RaisedKernel, raise_module

CORPUS = Path(__file__).parents[1] / "tests" / "corpus" / "ttir"


@cache
def example_texts() -> tuple[tuple[str, str], ...]:
    """The kernels that the examples launch, by name."""
    return tuple(_example_texts())


def _example_texts() -> Iterator[tuple[str, str]]:
    from tests.examples.tl_examples import NAMES, load
    from tilewright.runtime.pointer.jit import JITFunction

    for name in NAMES:
        module = load(name)
        module.example(np.random.default_rng(0))
        for kernel in vars(module).values():
            if isinstance(kernel, JITFunction):
                for index, compiled in enumerate(kernel.cache.values()):
                    text = compiled.text("ttir", locations=True)
                    yield f"tl/{name}.{compiled.name}.{index}", text


def dump_texts() -> Iterator[tuple[str, str]]:
    """The dump kernels, traced by our front end; none without Triton."""
    try:
        from tests.dumps import test_frontend as front_end
    except BaseException:  # without Triton the module skips itself
        return
    for case in front_end.CASES:
        if case.available_targets:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                text = front_end.our_text(case, front_end._targets(case), locations=True)
            yield f"dumps/{case.name}", text


def corpus_texts() -> Iterator[tuple[str, str]]:
    for path in sorted(CORPUS.glob("*.ttir")):
        yield f"corpus/{path.stem}", path.read_text()


def raise_text(text: str) -> tuple[RaisedKernel | NotRaised, float]:
    """The result, and the CPU time that it took."""
    source = parse_source(make_context(), text, "kernel.ttir", DiagnosticEngine())
    assert source is not None
    begin = time.process_time()
    result = raise_module(source.module)
    return result, time.process_time() - begin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--list", action="store_true", help="show the reasons of each refusal")
    parser.add_argument("--seconds", type=float, help="list kernels that take longer (CPU time)")
    options = parser.parse_args()
    total: Counter[str] = Counter()
    raised: Counter[str] = Counter()
    codes: Counter[str] = Counter()
    slow: Counter[str] = Counter()
    for texts in (example_texts, dump_texts, corpus_texts):
        for name, text in texts():
            suite = name.split("/")[0]
            result, seconds = raise_text(text)
            total[suite] += 1
            if isinstance(result, RaisedKernel):
                result.module.verify()
                raised[suite] += 1
                slow.update({each.code for each in result.plan.remarks})
            else:
                codes.update({each.code for each in result.refusals})
                if options.list:
                    print(f"{name}")
                    for reason in dict.fromkeys(str(each) for each in result.refusals):
                        print(f"    {reason}")
            if options.seconds is not None and seconds > options.seconds:
                print(f"{name}: {seconds:.3f} s")
    for suite, count in total.items():
        print(f"{suite:8} {raised[suite]:4} of {count}")
    print(f"{'all':8} {sum(raised.values()):4} of {sum(total.values())}")
    for code, count in sorted(codes.items()):
        print(f"refused with {code}: {count}")
    for code, count in sorted(slow.items()):
        print(f"raised with {code}: {count}")


if __name__ == "__main__":
    main()
