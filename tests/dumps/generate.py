"""Make the IR text that Triton prints for every case, on a machine that needs no GPU.

    python -m tests.dumps.generate OUTDIR [--targets sm80,sm90,sm100,gfx942] [--only NAME]

writes three files per case and target, two for Gluon, which starts at TTGIR:

    <case>.<target>.source.ttir   (or .source.ttgir) as the front end built it, before any pass
    <case>.<target>.ttir          after the backend's `ttir` stage
    <case>.<target>.ttgir         after the backend's `ttgir` stage

The stages are taken from the backend's own table and run by hand, so nothing is assembled and no
cache is read. File names in locations are cut to `<package>/<file>` so that the text does not
depend on where the checkout lives; everything else is exactly what Triton printed.

Each case runs in a process of its own: an assertion inside Triton ends that process, is reported
as a failure of that case, and the rest goes on.
"""

import argparse
import importlib
import multiprocessing
import os
import pkgutil
import re
import sys
import tempfile
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import triton
from triton._C.libtriton import ir
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.compiler.compiler import make_backend
from triton.experimental.gluon._runtime import GluonASTSource
from triton.runtime import driver

from . import kernels
from .case import COMMON, TARGETS, Case

STAGES = {"triton": ("ttir", "ttgir"), "gluon": ("ttgir",)}
_SOURCES = {"triton": ASTSource, "gluon": GluonASTSource}

# An installation inside the checkout has to be cut first, at its own, longer root.
_ROOTS = sorted(
    (
        f"{Path(__file__).resolve().parents[2]}{os.sep}",
        f"{Path(triton.__file__).resolve().parents[1]}{os.sep}",
    ),
    key=len,
    reverse=True,
)


def cases() -> tuple[Case, ...]:
    """Every case the installed Triton can compile, in file order."""
    found: list[Case] = []
    for module in sorted(info.name for info in pkgutil.iter_modules(kernels.__path__)):
        loaded = importlib.import_module(f"{kernels.__name__}.{module}")
        found += [case for case in loaded.CASES if case.is_available]
    names = [case.name for case in found]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(f"case names used twice: {', '.join(repeated)}")
    return tuple(found)


def dump(case: Case, target: str) -> dict[str, str]:
    """The text of one case on one target, keyed `source.ttir`, `ttir`, `ttgir` as files end."""
    gpu = TARGETS[target]
    backend = make_backend(gpu)
    source = _source(case, target)
    options = backend.parse_options({**case.options, **source.parse_options()})
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    codegen = backend.get_codegen_implementation(options)
    with _no_device(gpu):
        module = source.make_ir(gpu, options, codegen, backend.get_module_map(), context)
    stages: dict[str, Any] = {}
    backend.add_stages(stages, options, source.language)
    metadata = {"target": gpu, **options.__dict__}
    wanted = STAGES[case.language]
    texts = {f"source.{wanted[0]}": portable(str(module))}
    for stage in wanted:
        module = stages[stage](module, metadata)
        texts[stage] = portable(str(module))
    return texts


def portable(text: str) -> str:
    """The text with checkout and installation folders cut from the file names in it."""
    for root in _ROOTS:
        text = text.replace(f'"{root}', '"')
    return text


def write(case: Case, targets: Iterable[str], outdir: Path) -> list[str]:
    """Write one case's files; returns a line per target that failed."""
    failures: list[str] = []
    for target in targets:
        try:
            texts = dump(case, target)
        except Exception:
            failures.append(f"{case.name} {target}:\n{traceback.format_exc(limit=-3)}")
            continue
        for kind, text in texts.items():
            (outdir / f"{case.name}.{target}.{kind}").write_text(text)
    return failures


@dataclass(frozen=True)
class _NoDevice:
    """A driver for a machine without one: a few front-end checks ask it what is compiled for."""

    target: GPUTarget

    def get_current_target(self) -> GPUTarget:
        return self.target


@contextmanager
def _no_device(target: GPUTarget) -> Iterator[None]:
    driver.set_active(_NoDevice(target))
    try:
        yield
    finally:
        driver.set_active(None)  # found again when next asked for


def _source(case: Case, target: str) -> ASTSource:
    return _SOURCES[case.language](
        fn=case.kernel,
        signature=dict(case.signature),
        constexprs=dict(case.constexprs),
        attrs=case.attrs_for(target),
    )


def _write_in_child(case: Case, targets: tuple[str, ...], outdir: Path) -> None:
    with tempfile.TemporaryDirectory() as cache:
        os.environ["TRITON_CACHE_DIR"] = cache
        failures = write(case, targets, outdir)
    for failure in failures:
        print(failure, file=sys.stderr, flush=True)
    sys.exit(len(failures))


def _failures_of(case: Case, targets: tuple[str, ...], outdir: Path) -> int:
    fork = multiprocessing.get_context("fork")
    child = fork.Process(target=_write_in_child, args=(case, targets, outdir))
    child.start()
    child.join()
    status = child.exitcode or 0
    if status >= 0:
        return status
    print(f"{case.name}: ended by signal {-status}", file=sys.stderr, flush=True)
    return len(targets)


def main(argv: list[str] | None = None) -> int:
    """The command line; returns how many case-target pairs failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.dumps.generate", description=__doc__)
    parser.add_argument("outdir", type=Path)
    parser.add_argument("--targets", default=",".join(COMMON), help="comma-separated, or 'all'")
    parser.add_argument("--only", help="a regular expression that case names must match in full")
    arguments = parser.parse_args(argv)
    wanted = tuple(TARGETS) if arguments.targets == "all" else arguments.targets.split(",")
    unknown = [target for target in wanted if target not in TARGETS]
    if unknown:
        parser.error(f"unknown target {', '.join(unknown)}; known: {', '.join(TARGETS)}")
    arguments.outdir.mkdir(parents=True, exist_ok=True)
    failed = written = 0
    for case in cases():
        targets = tuple(target for target in case.available_targets if target in wanted)
        if not targets or (arguments.only and not re.fullmatch(arguments.only, case.name)):
            continue
        lost = _failures_of(case, targets, arguments.outdir)
        failed += lost
        written += len(targets) - lost
    print(f"triton {triton.__version__}: {written} written, {failed} failed")
    return failed


if __name__ == "__main__":
    sys.exit(min(main(), 1))
