"""A function of the SFPU is in every table that names it: pass, dialect, machine, shim, emission."""

from __future__ import annotations

import re

from tests.oracles.tenstorrent_headers.call_roles import ROLES
from tilewright.dialects.tensix import functions
from tilewright.passes.tenstorrent import dst_functions
from tilewright.targets.tenstorrent.emit.compute import UNARY_HEADERS
from tilewright.targets.tenstorrent.machine import functions as values
from tilewright.targets.tenstorrent.source.builds import SHIM


def test_ops_become_functions_of_the_dialect() -> None:
    assert {*dst_functions.UNARY.values()} <= {*functions.UNARY}
    binary = {*dst_functions.BINARY.values(), *dst_functions.INTEGER_BINARY.values()}
    assert binary <= {*functions.BINARY_DST}


def test_the_machine_computes_every_function() -> None:
    assert {*values.UNARY} == {*functions.UNARY}
    assert {*values.BINARY, *values.INTEGER_BINARY} == {*functions.BINARY_DST}


def test_the_shim_computes_every_function() -> None:
    table = (SHIM / "sfpu_table.h").read_text()
    assert {*functions.UNARY} <= {*re.findall(r"X\((\w+),", table)}


def test_every_function_has_its_header() -> None:
    assert {*UNARY_HEADERS} == {*functions.UNARY}
    names = (SHIM / "include_names.txt").read_text().split()
    for header in UNARY_HEADERS.values():
        assert f"api/compute/{header}" in names
        assert header in names or f"compute_kernel_api/{header}" in names


def test_every_call_has_roles() -> None:
    for name in functions.UNARY:
        assert ROLES[f"{name}_tile"] == ("dst",)
