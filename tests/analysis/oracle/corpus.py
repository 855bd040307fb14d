"""Real kernels with launches: the corpus with the instances of its expectations, and the fixtures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from random import Random

from xdsl.dialects.builtin import IntegerAttr, ModuleOp

from tests.analysis.oracle.recording import Launch, Program
from tests.analysis.oracle.trials import Trial
from tests.analysis.pid_address.support import (
    CORPUS,
    FIXTURES,
    corpus_module,
    expectation,
    fixture_module,
)
from tilewright.dialects.tt import FuncOp, TensorDescType
from tilewright.dialects.type_utils import PointerLike, element_type_of
from tilewright.ir.text.names import ValueNames
from tilewright.ir.traversal import walk

_PROMISED = {"hinted_wrap": {"M": 256, "stride": 8}}
"""What authors promise about arguments by other means than attributes of the argument."""

NAMES = tuple(sorted(path.stem for path in CORPUS.glob("*.ttir")))
FIXTURE_NAMES = tuple(sorted(path.stem for path in FIXTURES.glob("*.ttir")))


def corpus_trials(name: str) -> Iterator[Trial]:
    """One trial for each instance, so that each has its own buffers."""
    module = corpus_module(name)
    for number, instance in enumerate(expectation(name)["instances"]):
        grid = (*instance["grid"], 1, 1)[:3]
        memory = {key: tuple(data) for key, data in instance.get("memory", {}).items()}
        addresses = _addresses(module, number)
        given = Launch(grid, instance["args"], addresses, memory, number)
        rounded = _rounded(module, instance["args"])
        launches = (
            [given]
            if rounded == instance["args"]
            else [
                given,
                Launch(grid, rounded, addresses, memory, number),
            ]
        )
        honours = [launch.args == rounded for launch in launches]
        yield Trial(
            f"{name}[{number}]", module, launches, instance["buffer_bytes"], honours_hints=honours
        )


def fixture_trial(name: str, seed: int = 0, count: int = 3) -> Trial:
    """A kernel with launches drawn at random, arguments as divisible as it says."""
    module = fixture_module(name)
    pick = Random(f"{name} {seed}")
    launches = [_random_launch(module, pick, number) for number in range(count)]
    buffers = dict.fromkeys(launches[0].addresses, 4096)
    return Trial(name, module, launches, buffers)


def _kernel(module: ModuleOp) -> FuncOp:
    return next(op for op in walk(module) if isinstance(op, FuncOp) and op.is_public)


def _hints(module: ModuleOp) -> dict[str, tuple[bool, int]]:
    """By argument: whether it is an address, and what divides it."""
    kernel = _kernel(module)
    names = ValueNames(module, names_from_locations=False, use_hints=True)
    found: dict[str, tuple[bool, int]] = {}
    for index, arg in enumerate(kernel.args):
        hint = kernel.argument_attributes(index).get("tt.divisibility")
        divisor = hint.value.data if isinstance(hint, IntegerAttr) else 0
        is_address = isinstance(element_type_of(arg.type), PointerLike) or isinstance(
            arg.type, TensorDescType
        )
        found[names.of(arg)] = (is_address, divisor)
    return found


def _addresses(module: ModuleOp, number: int) -> dict[str, int]:
    """Far apart, and no more aligned than promised."""
    hints = _hints(module).items()
    places = [(name, divisor or 16) for name, (is_address, divisor) in hints if is_address]
    return {
        name: ((at + 1) << 40) + divisor * (2 * number + 1)
        for at, (name, divisor) in enumerate(places)
    }


def _rounded(module: ModuleOp, args: Mapping[str, int]) -> dict[str, int]:
    """Arguments as divisible as the kernel says."""
    hints = _hints(module)
    return {
        name: -(-value // max(hints[name][1], 1)) * max(hints[name][1], 1)
        for name, value in args.items()
    }


def _random_launch(module: ModuleOp, pick: Random, number: int) -> Launch:
    grid: Program = (pick.randrange(1, 6), pick.randrange(1, 3), 1)
    promised = _PROMISED.get(_kernel(module).sym_name.data, {})
    args = {
        name: pick.randrange(1, 60) * promised.get(name, max(divisor, 1))
        for name, (is_address, divisor) in _hints(module).items()
        if not is_address
    }
    return Launch(grid, args, _addresses(module, number), seed=pick.randrange(1000))
