"""A predictor-corrector step in TTGIR whose parts declare scratch and do not place it.

    python examples/buffers/ttgir_step.py [--canary]

Three components: the step calls a predictor, then a corrector, and both call one solver. The order
of the calls is told to the registry, so the two parts get the same bytes, and no spec or alias says
so. Printed is a module with the pool, an allocator for every buffer and a kernel that calls them;
comments on top show the layout and what the order of calls saves. Triton compiles it as it is, and
``tilewright opt`` reads it.

With ``--canary`` every buffer lies between guard bytes, and the kernel arms and checks them.
"""

from __future__ import annotations

import re
import sys

import numpy as np

from tilewright.buffers import BufferRegistry

STATES = 32
WARPS = 4


class Part:
    """Owners of buffers can be anything; a child's region is counted in its parent's precision."""

    precision = np.float32


def components(registry: BufferRegistry) -> tuple[Part, Part, Part, Part]:
    """The step, the predictor, the corrector and the solver, with their scratch registered."""
    step, predictor, corrector, solver = (Part() for _ in range(4))
    tile = {"alignment": 16}  # as one tensor, not element by element
    registry.register("residual", solver, STATES, "shared", **tile)
    registry.register("slope", predictor, STATES, "shared", **tile)
    registry.register("guess", predictor, STATES, "shared", **tile)
    registry.register("slope", corrector, STATES, "shared", **tile)
    registry.register("weights", corrector, 5, "shared")
    for part in (predictor, corrector):
        registry.register_child(part, solver, "solver")
    registry.register("state", step, STATES, "shared", **tile)
    registry.register_child(step, predictor, "predictor")
    registry.register_child(step, corrector, "corrector")
    return step, predictor, corrector, solver


def module(registry: BufferRegistry, parts: tuple[Part, Part, Part, Part], *, canary: bool) -> str:
    """TTGIR: an allocator for everything, and the kernel."""
    step, predictor, corrector, solver = parts
    functions: list[str] = []
    body = [registry.get_pool_ir(step)]
    pool_type = body[0].rpartition("-> ")[2]

    def take(owner: Part, prefix: str, name: str, pool: str) -> None:
        """Define the allocator of a buffer, under a name of its own, and call it."""
        text = registry.get_allocator_ir(name, owner, zero=True, dialect="ttg", num_warps=WARPS)
        text = text.replace(f"@allocate_{name}", f"@{prefix}_{name}")
        functions.append(text)
        found = re.search(r"\(%shared: (.*)\) -> (.*) \{", text)
        assert found is not None
        body.append(
            f"%{prefix}_{name} = tt.call @{prefix}_{name}(%{pool}) : ({found[1]}) -> {found[2]}"
        )

    if canary:
        functions.append(registry.get_canary_ir(step, dialect="ttg", num_warps=WARPS))
        body.append(f"tt.call @arm(%pool) : ({pool_type}) -> ()")
    take(step, "step", "state", "pool")
    for part, name, own in (
        (predictor, "predictor", ("slope", "guess")),
        (corrector, "corrector", ("slope", "weights")),
    ):
        take(step, "step", f"{name}_shared", "pool")
        for buffer in (*own, "solver_shared"):
            take(part, name, buffer, f"step_{name}_shared")
        take(solver, f"{name}_solver", "residual", f"{name}_solver_shared")
    if canary:
        body.append(f"tt.call @check(%pool, %report) : ({pool_type}, !tt.ptr<i32>) -> ()")
    head = (
        f'module attributes {{"ttg.num-warps" = {WARPS} : i32, "ttg.num-ctas" = 1 : i32, '
        '"ttg.threads-per-warp" = 32 : i32, ttg.target = "cuda:90"} {'
    )
    lines = "\n".join(f"  {line}" for line in [*body, "tt.return"])
    kernel = f"tt.func public @kernel(%report: !tt.ptr<i32>) {{\n{lines}\n}}\n"
    return f"{head}\n{''.join(functions)}{kernel}}}\n"


def main(arguments: list[str]) -> int:
    canary = "--canary" in arguments
    registry = BufferRegistry(policy="strict", guard_words=2 if canary else 0)
    parts = components(registry)
    step = parts[0]
    before = registry.shared_buffer_size(step)
    registry.register_calls(step, ["predictor", "corrector"])
    registry.verify(step)
    for line in str(registry.layouts(step)).splitlines():
        print("//", line)
    after = registry.shared_buffer_size(step)
    print(f"// {after} bytes of shared memory, {before} without the order of calls")
    print(module(registry, parts, canary=canary), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
