"""The page of layouts in a real browser: it draws, the pointer names a cell and marks its thread."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html import unescape

import pytest

from tests.report.test_layout_document import COLUMNS, drawn
from tests.report.test_memory_chromium import FLAGS
from tilewright.report import layout_html

CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(
    CHROMIUM is None,
    reason="CHROMIUM IS NOT INSTALLED, the page was not opened: run scripts/install_chromium.sh",
)

# What a person would do and see, written into the page as JSON.
PROBE = """
<pre id="probe"></pre>
<script>
const report = {};
const every = Array.from(document.querySelectorAll("g.cell"));
const boxes = every.map((cell) => cell.querySelector("rect").getBoundingClientRect());
report.visible = boxes.filter((box) => box.width > 0 && box.height > 0).length;
report.atRest = hover.textContent;
const box = boxes[5];
const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
const hit = document.elementFromPoint(x, y);
hit.dispatchEvent(new MouseEvent("mouseover", {bubbles: true, clientX: x, clientY: y}));
report.hover = hover.textContent;
report.same = every.map((cell, index) => cell.classList.contains("same") ? index : -1)
  .filter((index) => index >= 0);
hit.dispatchEvent(new MouseEvent("mouseout", {bubbles: true}));
report.after = hover.textContent;
report.left = document.querySelectorAll("g.same").length;
report.fetched = performance.getEntriesByType("resource").map((entry) => entry.name);
document.getElementById("probe").textContent = JSON.stringify(report);
</script>
</body>"""


def test_the_pointer_marks_all_cells_of_a_thread(tmp_path):
    layouts = drawn(
        f'%C = tile.alloc "C" {COLUMNS} : memref<2x4xf32, #f>',
        '%A = tile.alloc "A" : memref<8x8xf32, #s>',
    )
    file = tmp_path / "layouts.html"
    file.write_text(layout_html.render([layouts]).replace("</body>", PROBE), encoding="utf-8")
    command = [CHROMIUM, *FLAGS, f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom"]
    run = subprocess.run(
        [*command, "--window-size=1200,2000", file.as_uri()],
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    found = re.search(r'<pre id="probe">(.*?)</pre>', run.stdout, re.DOTALL)
    assert found and found[1], run.stderr[-2000:]
    seen = json.loads(unescape(found[1]))
    assert seen["visible"] == 8 + 16
    assert seen["hover"] == "C (1, 1): thread 1, register 1"
    # Thread 1 has the second column of C; cells of A belong to another picture.
    assert seen["same"] == [1, 5]
    assert seen["atRest"] == seen["after"]
    assert seen["left"] == 0
    assert seen["fetched"] == []
