"""Statements of `tl` kernels by what they compute, where text alone would not tell."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest


def _load(text, tmp_path):
    path = tmp_path / "generated.py"
    path.write_text(f"import tilewright as tw\nfrom tilewright import tl\n\n\n{text}")
    spec = importlib.util.spec_from_file_location("generated", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _chain(arms):
    lines = ["@tw.jit", "def pick(out, n):", "    if n == 0:", "        x = 7"]
    for arm in range(1, arms):
        lines += [f"    elif n == {arm}:", f"        x = {3 * arm}"]
    lines += ["    else:", "        x = -1", "    tl.store(out, x)", ""]
    return "\n".join(lines)


@pytest.mark.parametrize("n", [0, 1, 40, 59, 60])
def test_a_chain_of_conditions_may_be_longer_than_pythons_nesting(n, tmp_path):
    out = np.zeros(1, np.int32)
    _load(_chain(60), tmp_path).pick[(1,)](out, n)
    assert out[0] == (7 if n == 0 else 3 * n if n < 60 else -1)


def test_an_else_that_does_nothing(tmp_path):
    module = _load(
        "@tw.jit\n"
        "def keep(out, n):\n"
        "    x = 1\n"
        "    if n > 3:\n"
        "        x = 2\n"
        "    else:\n"
        "        pass\n"
        "    tl.store(out, x)\n",
        tmp_path,
    )
    out = np.zeros(1, np.int32)
    for n, expected in ((2, 1), (5, 2)):
        module.keep[(1,)](out, n)
        assert out[0] == expected
