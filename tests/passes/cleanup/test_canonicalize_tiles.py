"""Canonical form of the tile level: known numbers in lists, no loops over nothing."""

import pytest

from tests.dialects.tile.support import ARGUMENTS, module_text, parse
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.text import print_module
from tilewright.ir.verify import verify
from tilewright.passes.cleanup.canonicalize import canonicalize

T = ARGUMENTS
CONSTANTS = "%c0 = arith.constant 0 : index\n%c2 = arith.constant 2 : index\n%c8 = arith.constant 8 : index\n"
NUMBERS = f"{CONSTANTS}%four = arith.addi %c2, %c2 : index\n"


def canonical(body: str) -> list[str]:
    """The lines of the function in canonical form, without those of constants."""
    module = parse(module_text(body))
    assert canonicalize(module)
    engine = DiagnosticEngine()
    verify(module, engine)
    engine.raise_if_errors()
    lines = [line.strip() for line in print_module(module).splitlines()]
    start = next(at for at, line in enumerate(lines) if line.startswith("func.func"))
    return [line for line in lines[start + 1 : -3] if "arith.constant" not in line]


KNOWN = {
    "tile.kernel (%b, %c) in (%four, %n) {\n  tile.sync\n}": "tile.kernel (%b, %c) in (4, %n) {",
    "tile.parallel (%a, %b) in (%n, %four) {\n  tile.sync\n}": "tile.parallel (%a, %b) in (%n, 4) {",
    "tile.pipeline %k = %four to %c8 {\n  tile.sync\n}": "tile.pipeline %k = 4 to 8 {",
    "tile.persistent (%a, %b) in (%four, %n) wave %c8 index %i group 8 {\n  tile.sync\n}": (
        "tile.persistent (%a, %b) in (4, %n) wave 8 index %i group 8 {"
    ),
    "tile.persistent (%a) in (%n) wave %c8 index %four group 8 {\n  tile.sync\n}": (
        "tile.persistent (%a) in (%n) wave 8 index %four group 8 {"
    ),
    f"nv.mbarrier.expect_tx %bars[%c0], %four : {T['bars']}": (
        f"nv.mbarrier.expect_tx %bars[%c0], 4 : {T['bars']}"
    ),
    f"%0 = tile.region %A[%four, %i] [%c8, 32] : {T['A']} to !tile.region<?x32xf16, #global>\n"
    "tile.fill %0, %h : !tile.region<?x32xf16, #global>, f16": (
        f"%0 = tile.region %A[4, %i] [8, 32] : {T['A']} to !tile.region<8x32xf16, #global>"
    ),
}


@pytest.mark.parametrize(("body", "line"), KNOWN.items(), ids=range(len(KNOWN)))
def test_constants_become_numbers(body: str, line: str):
    assert canonical(NUMBERS + body)[0] == line


def test_users_of_a_region_see_its_new_type():
    body = (
        f"%0 = tile.region %A[0, 0] [%c8, 32] : {T['A']} to !tile.region<?x32xf16, #global>\n"
        "tile.fill %0, %h : !tile.region<?x32xf16, #global>, f16"
    )
    assert (
        canonical(CONSTANTS + body)[-1] == "tile.fill %0, %h : !tile.region<8x32xf16, #global>, f16"
    )


GONE = [
    "tile.parallel (%a, %b) in (%c0, %n) {\n  tile.sync\n}",
    "tile.pipeline %k = 8 to %c2 {\n  tile.sync\n}",
    "tile.persistent (%a) in (0) wave 8 index %i group 8 {\n  tile.sync\n}",
    "%true = arith.constant true\ntile.assume %true",
]


@pytest.mark.parametrize("body", GONE)
def test_dropped(body: str):
    assert canonical(CONSTANTS + body) == []


KEPT = [
    "tile.parallel (%a) in (1) {",
    "tile.pipeline %k = 0 to 1 {",
    "tile.kernel (%b) in (0) {",
    "tile.pipeline %k = 0 to %n {",
]


@pytest.mark.parametrize("line", KEPT)
def test_kept(line: str):
    assert canonical(f"{line}\n  tile.sync\n}}") == [line, "tile.sync", "}"]


def test_other_promises_are_kept():
    assert canonical("tile.assume %p") == ["tile.assume %p"]
    assert canonical("%false = arith.constant false\ntile.assume %false") == ["tile.assume %false"]


def test_a_view_that_changes_nothing():
    body = f"%0 = tile.view %As : {T['As']} to {T['As']}\ntile.fill %0, %h : {T['As']}, f16"
    assert canonical(body) == [f"tile.fill %As, %h : {T['As']}, f16"]
