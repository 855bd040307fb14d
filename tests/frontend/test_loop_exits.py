"""The rewrite that replaces a return inside a loop."""

import pytest

from tilewright.frontend.loop_exits import exit_hint


@pytest.mark.parametrize(
    ("header", "before", "written"),
    [
        (
            "for i in range(n):",
            "`i = 0` and ",
            "`while i < n and running:` with `i += 1` at the end of its body",
        ),
        (
            "for k in tl.range(a, b + 1, STEP):",
            "`k = a` and ",
            "`while k < b + 1 and running:` with `k += STEP` at the end of its body",
        ),
        ("while x > 0:", "", "`while x > 0 and running:`"),
        ("while x > 0 or y:", "", "`while (x > 0 or y) and running:`"),
        ("for i in range(n, 0, -1):", "", "`while ... and running:`"),
        ("for i in items:", "", "`while ... and running:`"),
        ("for i in range(", "", "`while ... and running:`"),
    ],
)
def test_the_header_gets_a_flag(header: str, before: str, written: str) -> None:
    assert exit_hint(f"    {header}\n") == (
        f"help: set {before}`running = True` before this loop, write {written}, and replace the "
        "return by `running = False`; put what the return skips under `if running:`"
    )
