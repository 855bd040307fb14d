"""The command line of `scripts/same_output.py`."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from scripts.same_output.comparing import (
    Comparison,
    compare,
    difference_lines,
    name_in,
    report,
    rewordings,
)
from scripts.same_output.recording import Recording, record
from scripts.same_output.text import Renames

ROOT = Path(__file__).resolve().parents[2]
_ENTRY, _PACKAGE = "scripts/same_output.py", "scripts/same_output"
_EXAMPLES = """\
examples:
  python scripts/same_output.py against HEAD~1 --sample 20       a sample, before a commit
  python scripts/same_output.py against main                     everything; takes minutes
  python scripts/same_output.py against before.json --map names  against what was recorded earlier
  python scripts/same_output.py record before.json --only tile --only 'fuzz-tile/1*'
  python scripts/same_output.py compare a.json b.json --show tile/gemm@sm_90a cuda/gemm_kernel
"""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=_ENTRY,
        description="Compares everything that two trees generate: IR, source, plans, diagnostics.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True)
    chosen, compared = _chosen(), _compared()
    one = commands.add_parser(
        "record", parents=[chosen], help="write everything that this tree generates to a file"
    )
    one.add_argument("file", type=Path, metavar="FILE.json")
    two = commands.add_parser("compare", parents=[compared], help="compare two recordings")
    two.add_argument("before", type=Path, metavar="BEFORE.json")
    two.add_argument("after", type=Path, metavar="AFTER.json")
    three = commands.add_parser(
        "against",
        parents=[chosen, compared],
        help="compare this tree with a revision or a recording",
    )
    three.add_argument("before", metavar="REVISION|BEFORE.json")
    three.add_argument("--keep", type=Path, metavar="DIRECTORY", help="keep both recordings there")
    return parser


def _chosen() -> argparse.ArgumentParser:
    """Options for which cases are run, and how."""
    options = argparse.ArgumentParser(add_help=False)
    options.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="PATTERN",
        help="cases whose name matches: 'tile', 'tile/*gemm*@sm_90a'; may be repeated",
    )
    options.add_argument(
        "--seeds",
        type=_seeds,
        default=range(300),
        metavar="A:B",
        help="seeds of random tile kernels, and of a third as many tl kernels (0:300)",
    )
    options.add_argument(
        "--sample", type=int, metavar="K", help="only K cases of each kind, evenly spread"
    )
    options.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="number of processes"
    )
    options.add_argument("--ptx", action="store_true", help="compile CUDA to PTX too (much slower)")
    options.add_argument(
        "--no-texts",
        action="store_true",
        help="digests only: no diff can be shown then, and no names mapped",
    )
    return options


def _compared() -> argparse.ArgumentParser:
    """Options for what counts as a difference, and what is shown."""
    options = argparse.ArgumentParser(add_help=False)
    options.add_argument(
        "--map",
        type=Path,
        metavar="FILE",
        help="renamed attributes, ops, passes and modules, 'old new' per line",
    )
    options.add_argument(
        "--stages",
        action="append",
        default=[],
        metavar="PATTERN",
        help="compare only stages whose name matches: 'cuda/*'; may be repeated",
    )
    options.add_argument(
        "--strict", action="store_true", help="reworded messages and comments are differences too"
    )
    options.add_argument(
        "--reworded", action="store_true", help="list messages that changed, before and after"
    )
    options.add_argument(
        "--show", nargs=2, metavar=("CASE", "STAGE"), help="the whole diff of one stage"
    )
    return options


def _seeds(text: str) -> range:
    first, _, last = text.partition(":")
    if not (first.isdecimal() and last.isdecimal() and int(first) < int(last)):
        raise argparse.ArgumentTypeError(f"expected A:B with A < B, found {text!r}")
    return range(int(first), int(last))


def main(arguments: Sequence[str]) -> int:
    """Run the command in `arguments`; returns 1 if anything differs."""
    given = _parser().parse_args(arguments)
    try:
        match given.command:
            case "record":
                _record(given, given.file)
                return 0
            case "compare":
                before, after = Recording.read(given.before), Recording.read(given.after)
                return _show(given, before, after)
            case _:
                return _against(given)
    except (OSError, ValueError) as error:
        sys.stderr.write(f"{_ENTRY}: {error}\n")
        return 2
    except BrokenProcessPool:
        sys.stderr.write(f"{_ENTRY}: a process died; --only with fewer cases finds out in which\n")
        return 2


# -- record --------------------------------------------------------------------------------------


def _record(given: argparse.Namespace, path: Path, like: Recording | None = None) -> Recording:
    """Record what this tree makes of the chosen cases; with `like`, of those that it has."""
    # Comparing recordings does not need the compiler.
    from scripts.same_output.subjects import Selection

    chosen = Selection(tuple(given.only), given.seeds, given.sample)
    names = chosen.names()
    if like is not None:
        own = {*Selection(seeds=given.seeds).names()}
        names = chosen.of(name_in(own, each, _renames(given)) for each in like.cases)
    if not names:
        raise ValueError(f"no case matches {' '.join(given.only)!r}")
    selection = repr(chosen) if like is None else f"those of {like.path.name}"
    return record(
        path, names, selection, jobs=given.jobs, keep_texts=not given.no_texts, ptx=given.ptx
    )


# -- against -------------------------------------------------------------------------------------


def _against(given: argparse.Namespace) -> int:
    with tempfile.TemporaryDirectory(prefix="same-output-") as directory:
        results: Path = given.keep or Path(directory)
        results.mkdir(parents=True, exist_ok=True)
        path = Path(given.before)
        if path.suffix == ".json":
            before = Recording.read(path)
            after = _record(given, results / "after.json", like=before)
        else:
            tree = Path(directory) / "tree"
            _export(given.before, tree)
            before = _recorded_in(tree, given, results / "before.json")
            after = _record(given, results / "after.json")
        return _show(given, before, after)


def _export(revision: str, tree: Path) -> None:
    """The files of `revision`, with this tool where it has none of its own."""
    tree.mkdir()
    archive = subprocess.run(
        ["git", "-C", str(ROOT), "archive", revision], capture_output=True, check=False
    )
    if archive.returncode:
        raise ValueError(archive.stderr.decode().strip())
    subprocess.run(["tar", "-x", "-C", str(tree)], input=archive.stdout, check=True)
    if not (tree / _PACKAGE).is_dir():
        shutil.copy(ROOT / _ENTRY, tree / _ENTRY)
        shutil.copytree(ROOT / _PACKAGE, tree / _PACKAGE)


def _recorded_in(tree: Path, given: argparse.Namespace, path: Path) -> Recording:
    """What the tree of another revision makes, by a process that sees that tree alone."""
    command = [sys.executable, str(tree / _ENTRY), "record", str(path.resolve())]
    command += [f"--only={each}" for each in given.only]
    command += [f"--seeds={given.seeds.start}:{given.seeds.stop}", f"--jobs={given.jobs}"]
    command += [] if given.sample is None else [f"--sample={given.sample}"]
    command += ["--no-texts"] if given.no_texts else []
    command += ["--ptx"] if given.ptx else []
    environment = {**os.environ, "PYTHONPATH": f"{tree / 'src'}{os.pathsep}{tree}"}
    done = subprocess.run(command, cwd=tree, env=environment, check=False)
    if done.returncode:
        raise ValueError(f"{given.before} could not be recorded (exit code {done.returncode})")
    return Recording.read(path)


# -- compare -------------------------------------------------------------------------------------


def _show(given: argparse.Namespace, before: Recording, after: Recording) -> int:
    found = compare(before, after, _renames(given), given.stages)
    if given.show is not None:
        case, stage = given.show
        return _show_one(case, stage, found)
    if given.reworded:
        for old, new in rewordings(found):
            sys.stdout.write(f"before: {old}\nafter:  {new}\n\n")
    sys.stdout.write(report(found, strict=given.strict))
    return int(not found.is_equal(strict=given.strict))


def _renames(given: argparse.Namespace) -> Renames:
    return Renames() if given.map is None else Renames.read(given.map)


def _show_one(case: str, stage: str, found: Comparison) -> int:
    chosen = [each for each in found.differences if (each.case, each.stage) == (case, stage)]
    if not chosen:
        stages = [each.stage for each in found.differences if each.case == case]
        raise ValueError(f"no difference in {case} {stage}; there are: {', '.join(stages) or '-'}")
    for each in chosen:
        sys.stdout.write("\n".join([f"{each.part}:", *difference_lines(each, found), ""]))
    return 1
