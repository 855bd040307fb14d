"""The import graph of the package: no cycles two levels below the root, nothing that nobody reaches.

Entry points are declared below. A module that none of them reaches is either dead or an oracle of the
tests, and oracles are in `tests/oracles`. Imports are those of the source, in functions too; what is
loaded by name is read from the tables that name it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Set
from pathlib import Path

import grimp
import pytest

import tilewright
from tilewright import dialects
from tilewright.cli import check_parts, editor_server, tune
from tilewright.cli import main as cli
from tilewright.compat.modules import MODULES as TRITON_MODULES
from tilewright.compat.tilelang_modules import TILELANG
from tilewright.passes import PASSES
from tilewright.targets import worker_pool
from tilewright.targets.numpy.support import HELPERS as POINTER_HELPERS
from tilewright.targets.numpy.tile.support import HELPERS as TILE_HELPERS

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "tilewright"

Edges = Mapping[str, Iterable[str]]


def console_scripts() -> set[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return {target.partition(":")[0] for target in project["scripts"].values()}


def offered() -> set[str]:
    """Modules that scripts written for Triton or TileLang get instead of theirs."""
    offers = [*TRITON_MODULES.values(), *TILELANG.modules.values()]
    targets = {target for offer in offers for target in (*offer.names.values(), *offer.mirrors)}
    return {target.partition(":")[0] for target in targets}


def pass_modules() -> set[str]:
    return {load().__module__ for load in PASSES.values()}


def notebook_modules() -> set[str]:
    """Modules that render values, as their classes name them."""
    named = re.compile(rf'"({PACKAGE}[\w.]*\.report\.[\w.]+):\w+"')
    return {
        name
        for path in sorted((ROOT / "src").rglob("*.py"))
        for name in named.findall(path.read_text(encoding="utf-8"))
    }


ENTRY_POINTS: Mapping[str, Iterable[str]] = {
    "import tilewright": [PACKAGE],
    "programs": {
        f"{PACKAGE}.__main__",
        f"{PACKAGE}.compat.__main__",
        *console_scripts(),
    },
    "commands of the program": {each.module_name for each in cli.COMMANDS},
    "what a kernel imports by its full name": [
        f"{PACKAGE}.buffers",
        f"{PACKAGE}.language.tl.extra.cuda.inline_ptx_lib",
        f"{PACKAGE}.language.tl.extra.subtile_ops",
        f"{PACKAGE}.language.tlx.warp_spec",
    ],
    "modules of Triton and TileLang": offered(),
    "passes, loaded by name": pass_modules(),
    "dialects, loaded by name": {module for module, _ in dialects._MODULES.values()},
    "loaded by name where numba is installed": [f"{PACKAGE}.memory.registry.numba_backend"],
    "work and worker processes, named in messages": {
        check_parts.WORK.partition(":")[0],
        tune.WORK.partition(":")[0],
        editor_server.DETAILS,
        worker_pool.MODULE,
    },
    "what notebooks show, named by classes": notebook_modules(),
    "loaded by IPython": [tilewright._EXTENSION],
    "functions that generated NumPy source imports": {
        *POINTER_HELPERS.values(),
        *TILE_HELPERS.values(),
    },
}


@pytest.fixture(scope="module")
def graph() -> grimp.ImportGraph:
    return grimp.build_graph(PACKAGE, cache_dir=None)


def edges_of(graph: grimp.ImportGraph) -> dict[str, set[str]]:
    """What each module loads: its imports, and the packages that it is in."""
    edges = {name: set(graph.find_modules_directly_imported_by(name)) for name in graph.modules}
    for name, targets in edges.items():
        if "." in name:
            targets.add(name.rpartition(".")[0])
    return edges


def reachable(edges: Edges, entries: Iterable[str]) -> set[str]:
    found: set[str] = set()
    pending = [name for name in entries if name in edges]
    while pending:
        name = pending.pop()
        if name not in found:
            found.add(name)
            pending += edges[name]
    return found


def cycles(edges: Edges) -> list[list[str]]:
    """Groups of nodes that reach each other (Tarjan's strongly connected components)."""
    order: dict[str, int] = {}
    lowest: dict[str, int] = {}
    path: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        order[node] = lowest[node] = len(order)
        path.append(node)
        for target in sorted(edges.get(node, ())):
            if target not in order:
                visit(target)
            if target in path:
                lowest[node] = min(lowest[node], lowest[target])
        if lowest[node] == order[node]:
            start = path.index(node)
            group = sorted(path[start:])
            del path[start:]
            if len(group) > 1:
                found.append(group)

    for node in sorted(edges):
        if node not in order:
            visit(node)
    return found


def second_level(graph: grimp.ImportGraph) -> dict[str, set[str]]:
    """The graph between `tilewright`, `tilewright.x` and `tilewright.x.y`, whatever is inside."""

    def package(name: str) -> str:
        return ".".join(name.split(".")[:3])

    edges: dict[str, set[str]] = {package(name): set() for name in graph.modules}
    for name in graph.modules:
        for target in graph.find_modules_directly_imported_by(name):
            if package(name) != package(target):
                edges[package(name)].add(package(target))
    return edges


def test_no_cycle_between_packages_two_below_the_root(graph: grimp.ImportGraph) -> None:
    assert cycles(second_level(graph)) == []


def test_a_planted_cycle_is_found(graph: grimp.ImportGraph) -> None:
    edges = second_level(graph)
    assert "tilewright.layouts.bits" in edges["tilewright.layouts.linear"]
    edges["tilewright.layouts.bits"].add("tilewright.layouts.linear")
    assert ["tilewright.layouts.bits", "tilewright.layouts.linear"] in cycles(edges)


def test_every_module_is_reached_from_an_entry_point(graph: grimp.ImportGraph) -> None:
    edges = edges_of(graph)
    entries = {name for names in ENTRY_POINTS.values() for name in names}
    assert sorted(set(edges) - reachable(edges, entries)) == []


@pytest.mark.parametrize("kind", [kind for kind in ENTRY_POINTS if kind != "import tilewright"])
def test_every_kind_of_entry_point_is_needed(graph: grimp.ImportGraph, kind: str) -> None:
    edges = edges_of(graph)
    others = {name for other, names in ENTRY_POINTS.items() if other != kind for name in names}
    assert set(edges) - reachable(edges, others) != set()


def test_entry_points_exist(graph: grimp.ImportGraph) -> None:
    named = {name for names in ENTRY_POINTS.values() for name in names}
    absent = {f"{PACKAGE}.dialects.nvws"}  # text that mentions it is refused by name
    ours = {name for name in named if name.partition(".")[0] == PACKAGE} - absent
    assert sorted(ours - graph.modules) == []
    assert Path(tilewright.__file__).is_relative_to(ROOT)


_IMPORT = re.compile(rf"^\s*(?:from|import) ({PACKAGE}(?:\.\w+)*)(?: import \(?|$)", re.MULTILINE)


def unknown_imports(text: str, modules: Set[str]) -> list[str]:
    """Modules of ours that `text` imports, and that do not exist."""
    return [name for name in _IMPORT.findall(text) if name not in modules]


def test_what_is_imported_exists(graph: grimp.ImportGraph) -> None:
    """Also inside of functions, in tests and scripts: a module that moves is imported nowhere any more."""
    unknown = {
        str(path.relative_to(ROOT)): found
        for directory in ("src", "tests", "scripts", "benchmarks", "examples")
        for path in sorted((ROOT / directory).rglob("*.py"))
        if (found := unknown_imports(path.read_text(encoding="utf-8"), graph.modules))
    }
    assert unknown == {}


def test_an_import_of_a_module_that_is_gone_is_found() -> None:
    text = (
        f"from {PACKAGE}.ir import text\n"
        f"def late():\n    from {PACKAGE}.gone.away import (\n        thing,\n    )\n"
        f"    import {PACKAGE}.lost\n"
    )
    assert unknown_imports(text, {f"{PACKAGE}.ir"}) == [f"{PACKAGE}.gone.away", f"{PACKAGE}.lost"]
