"""Values of foreign kernels: on pointers, and raised to tiles before and after scheduling.

    python -m scripts.foreign_kernels ROOT FILE... [--only TEXT] [--list] [--variants 2]
                                      [--set NAME=VALUE ...]

ROOT is the directory that the project's modules are imported from, FILE one of its files or
directories. Nothing of the project is installed, copied or changed. For each kernel that is
launched (not called by others), and each choice of arguments (`guessing`), bytes of all arrays are
compared. Where the guess is wrong, `--set stage=3`, `--set out_dtype=tl.float32` and
`--set words=np.int32` (the elements of an array) say better.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
from xdsl.rewriter import Rewriter

from scripts.foreign_kernels.guessing import VARIANTS, Variant, arguments_of, grid_of
from scripts.foreign_kernels.loading import install, kernels_of
from tests.passes.raising.launches import recorded
from tests.passes.raising.levels import Launch, assert_same, on_pointers, on_tiles, parsed
from tilewright import tl
from tilewright.dialects.arith import ConstantOp
from tilewright.dialects.tt import LoadOp
from tilewright.ir.diagnostics import CompileError
from tilewright.ir.text import print_module
from tilewright.passes.tile.pipeline import TilePipeline
from tilewright.passes.tile.raise_to_tile import NotRaised, raise_module
from tilewright.runtime.pointer.jit import JITFunction
from tilewright.targets.numpy import NumpyFault
from tilewright.targets.numpy.support.batch import UndefinedFault
from tilewright.targets.numpy.tile import TileFault

SCHEDULES = 2
WRITTEN_TWICE = "TW6108"
"""Lanes of a store write the same element, with these arguments: which one is last is undefined."""
ORDER = ("crash", "differs", "fault", "refused", "right", "no data", "not traced")
"""Outcomes; of several choices of arguments the first of these counts."""


def outcome(
    kernel: JITFunction,
    variant: Variant,
    floats: Any = None,
    given: Mapping[str, Any] | None = None,
) -> tuple[str, str]:
    """What becomes of a kernel with one choice of arguments, and a reason."""
    try:
        values = arguments_of(kernel, variant, floats, given)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            text = kernel.warmup(**values).text("ttir", locations=True)
    except Exception as error:
        return "not traced", _first_line(error)
    with recorded() as launches:
        try:
            kernel[grid_of(kernel)](**values)
        except UndefinedFault:
            pass  # launched, and compared with zeros where masked loads say nothing
        except Exception as error:
            return "no data", _first_line(error)
    (_, launch), *_ = launches
    return compared(text, launch)


def compared(text: str, launch: Launch) -> tuple[str, str]:
    """Both levels on one launch."""
    try:
        result = raise_module(parsed(text))
    except Exception as error:
        return "crash", f"raising: {_where(error)}"
    if isinstance(result, NotRaised):
        return "refused", "; ".join(dict.fromkeys(str(each) for each in result.refusals))
    try:
        expected, _ = on_pointers(with_zeros(launch))
    except NumpyFault as error:
        return "no data", _first_line(error)
    for stage, pipeline in (("raised", None), ("scheduled", TilePipeline())):
        try:
            actual, _ = on_tiles(result, launch, pipeline, SCHEDULES if pipeline else 1)
            assert_same(expected, actual)
        except AssertionError as error:
            return "differs", f"{stage}: {_first_line(error)}"
        except TileFault as error:
            if error.diagnostic.code == WRITTEN_TWICE:
                return "no data", _first_line(error)
            return "fault", f"{stage}: {_first_line(error)}"
        except Exception as error:
            return "crash", f"{stage}: {_where(error)}"
    return "right", ""


def with_zeros(launch: Launch) -> Launch:
    """Loads give zero where their mask is false and no `other` is said: any value is allowed
    there, and raised kernels have zeros."""
    module = parsed(launch.text)
    for op in [*module.walk()]:
        if isinstance(op, LoadOp) and op.mask is not None and op.other is None:
            zero = ConstantOp.of(0, op.result.type)
            other = LoadOp(op.ptr, op.mask, zero.result, policy=op.policy)
            Rewriter.replace_op(op, [zero, other])
    return replace(launch, text=print_module(module))


def _first_line(error: BaseException) -> str:
    text = str(error).strip()
    if isinstance(error, CompileError):
        text = text.replace("\n", " ")[:300]
    return f"{type(error).__name__}: {text.partition(chr(10))[0][:300]}"


def _where(error: BaseException) -> str:
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{_first_line(error)} at {Path(last.filename).name}:{last.lineno}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", type=Path)
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--only", default="", help="kernels whose names contain this")
    parser.add_argument("--variants", type=int, default=2, help="choices of arguments")
    parser.add_argument("--set", action="append", default=[], help="NAME=VALUE")
    parser.add_argument("--list", action="store_true", help="every outcome, not only problems")
    options = parser.parse_args()
    root = options.root.resolve()
    install(root)
    files = [
        path
        for each in options.files
        for path in ([each] if each.is_file() else sorted(each.rglob("*.py")))
    ]
    files = [each.resolve() for each in files if "jit" in each.read_text()]
    scope = {"np": np, "tl": tl, "ml_dtypes": ml_dtypes}
    given = {
        name: eval(value, scope) for name, _, value in (each.partition("=") for each in options.set)
    }
    total: Counter[str] = Counter()
    for name, kernel in kernels_of(root, files):
        if options.only not in name:
            continue
        begin = time.perf_counter()
        found: list[tuple[str, str, Variant]] = []
        for variant in VARIANTS[: options.variants]:
            found.append((*outcome(kernel, variant, given=given), variant))
        worst = min(found, key=lambda each: ORDER.index(each[0]))
        total[worst[0]] += 1
        if options.list or worst[0] not in ("right",):
            print(f"{worst[0]:10} {name} ({time.perf_counter() - begin:.1f} s)")
            for kind, reason, variant in found:
                if reason:
                    print(f"    {kind}: {variant}: {reason[:400]}")
            sys.stdout.flush()
    print(", ".join(f"{count} {kind}" for kind, count in total.most_common()))


if __name__ == "__main__":
    np.seterr(all="ignore")
    main()
