"""All cases by their names, `KIND/NAME`, and how each is run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from scripts.same_output import file_cases, mistake_cases, tile_cases, tl_cases
from scripts.same_output.stages import ROOT, Stages
from tests.examples import tl_examples, tlx_examples

Run = Callable[[str, Stages], None]

RUNS: dict[str, Run] = {
    "tile": tile_cases.run_example,
    "tl": tl_cases.run_tl,
    "tlx": tl_cases.run_tlx,
    "text-test": file_cases.run_text_test,
    "file": file_cases.run_file,
    "script": file_cases.run_script,
    "mistake": mistake_cases.run_mistake,
    "fuzz-tile": tile_cases.run_seed,
    "fuzz-tl": tl_cases.run_seed,
}
DIRECTORIES = ("tests/corpus", "tests/analysis", "tests/targets", "examples")
"""Where IR files are that carry no RUN lines."""
IR = (".mlir", ".ttir", ".ttgir")


@dataclass(frozen=True)
class Selection:
    """Which cases to run."""

    only: tuple[str, ...] = ()
    """Patterns of names, `tile/*gemm*` or `fuzz-tile`; none means all."""
    seeds: range = range(300)
    """Of random tile kernels; a third as many `tl` kernels."""
    sample: int | None = None
    """As many of each kind, evenly spread."""

    def names(self) -> list[str]:
        """The chosen ones of all cases of this tree."""
        return self.of([f"{kind}/{name}" for kind in RUNS for name in _of_kind(kind, self.seeds)])

    def of(self, names: Iterable[str]) -> list[str]:
        """The chosen ones of `names`."""
        kinds: dict[str, list[str]] = {}
        for name in filter(self._wants, names):
            kinds.setdefault(name.partition("/")[0], []).append(name)
        if self.sample is not None:
            kinds = {kind: spread(each, self.sample) for kind, each in kinds.items()}
        return [name for each in kinds.values() for name in each]

    def _wants(self, name: str) -> bool:
        return not self.only or any(
            fnmatchcase(name, each) or fnmatchcase(name, f"{each}/*") for each in self.only
        )


def spread(names: Sequence[str], count: int) -> list[str]:
    """`count` of `names`, evenly spread; all if there are no more."""
    if count >= len(names):
        return list(names)
    return [names[index * len(names) // count] for index in range(count)]


def _of_kind(kind: str, seeds: range) -> list[str]:
    match kind:
        case "tile":
            return tile_cases.examples()
        case "tl":
            return [*tl_examples.NAMES, tl_examples.INTEGERS]
        case "tlx":
            return [*tlx_examples.NAMES, *tlx_examples.HELD_OUT]
        case "text-test":
            return _files("tests/lit")
        case "file":
            return [name for directory in DIRECTORIES for name in _files(directory)]
        case "script":
            return sorted(
                f"examples/buffers/{path.name}" for path in (ROOT / "examples/buffers").glob("*.py")
            )
        case "mistake":
            return mistake_cases.mistakes()
        case "fuzz-tile":
            return [str(seed) for seed in seeds]
        case _:
            return [str(seed) for seed in seeds[: -(-len(seeds) // 3)]]


def _files(directory: str) -> list[str]:
    paths = sorted(path for path in (ROOT / directory).rglob("*") if path.suffix in IR)
    return [str(path.relative_to(ROOT)) for path in paths if "Inputs" not in path.parts]


def run_case(name: str, *, ptx: bool = False) -> Stages:
    """The stages of one case; one that fails has its failure as its last."""
    kind, _, rest = name.partition("/")
    stages = Stages(wants_ptx=ptx)
    with stages.guarded("case"):
        RUNS[kind](rest, stages)
    return stages
