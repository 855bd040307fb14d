"""Make the kernel of a seed of the wide family: one to three launches in a function."""

from __future__ import annotations

from tests.fuzz.tile.generator import Case
from tests.fuzz.tile.wide.atomics import Atomics
from tests.fuzz.tile.wide.author import Author, Tensor
from tests.fuzz.tile.wide.chains import Chains
from tests.fuzz.tile.wide.gathers import Gathers
from tests.fuzz.tile.wide.gemm import Gemm
from tests.fuzz.tile.wide.large import generate_large
from tests.fuzz.tile.wide.moves import Moves
from tests.fuzz.tile.wide.products import Attention, Products
from tests.fuzz.tile.wide.roles import Clusters, Roles
from tests.fuzz.tile.wide.rows import Rows
from tests.fuzz.tile.wide.run_time import RunTime

SCHEMES = (
    *(Gemm,) * 4, *(Products,) * 3, Attention, *(Moves,) * 4, *(Rows,) * 2, *(Gathers,) * 2, *(Atomics,) * 2, *(RunTime,) * 3,
    Roles, Clusters,
)  # fmt: skip
LATER = (*SCHEMES, *(Chains,) * 10)
"""For the kernels behind the first one."""
LARGE = 4
"""One of so many seeds is a kernel of `Large`."""


def _sizes(tensors: list[Tensor]) -> dict[str, None]:
    return {label: None for each in tensors for label in each.labels if label}


def _annotated(tensor: Tensor) -> str:
    shown = [label or str(size) for label, size in zip(tensor.labels, tensor.shape, strict=True)]
    return f"{tensor.name}: T.Tensor(({', '.join(shown)},), {tensor.dtype!r})"


def _source(author: Author) -> str:
    annotated = [_annotated(each) for each in author.tensors]
    symbols = ", ".join(_sizes(author.tensors))
    lines = ["from tilewright import T", "", *author.macros.tile]
    if author.form == "eager":
        lines += [f"def kernel({', '.join(each.name for each in author.tensors)}):"]
        lines += [f"    {symbols} = T.const({symbols!r})"] if symbols else []
        lines += [f"    {each}" for each in (*annotated, *author.text.tile)]
        return "\n".join(lines) + "\n"
    lines += ["def make():"]
    lines += [f"    {name} = T.dynamic({name!r})" for name in _sizes(author.tensors)]
    lines += ["    @T.prim_func", f"    def kernel({', '.join(annotated)}):"]
    lines += [f"        {line}" for line in author.text.tile]
    return "\n".join([*lines, "    return kernel"]) + "\n"


def _reference(author: Author) -> str:
    lines = [*author.macros.numpy]
    lines += [f"def reference({', '.join(each.name for each in author.tensors)}):"]
    return "\n".join([*lines, *("    " + line for line in author.text.numpy)]) + "\n"


def generate(seed: int) -> Case:
    """The kernel of a seed: the same one every time."""
    if seed % LARGE == 0:
        return generate_large(seed)
    author = Author(seed)
    for number in range(author.rng.choice((1, 1, 1, 1, 2, 2, 3))):
        author.rng.choice(LATER if number else SCHEMES)(author).write()
    return Case(
        seed, author.form, _source(author), _reference(author), tuple(author.tensors),
        family="wide", only_hopper=author.only_hopper, only_threads=author.only_threads,
    )  # fmt: skip
