"""The page in a real browser: it draws, the pointer names a buffer, nothing is fetched."""

import json
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path

import pytest

from tests.report.samples import flash_attention, gaps, gemm_ring
from tilewright.report import memory_html

CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(
    CHROMIUM is None,
    reason="CHROMIUM IS NOT INSTALLED, the HTML map was not opened: run scripts/install_chromium.sh",
)

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # Whatever the page asked for would go nowhere.
    "--proxy-server=127.0.0.1:9",
)

# What a person would do and see, written into the page as JSON.
PROBE = """
<pre id="probe"></pre>
<script>
const report = {};
const boxes = cells.map((cell) => cell.querySelector("rect").getBoundingClientRect());
report.cells = cells.length;
report.visible = boxes.filter((box) => box.width > 0 && box.height > 0).length;
report.hatched = Array.from(document.querySelectorAll("g.padding rect, g.dead rect"),
  (rect) => getComputedStyle(rect).fill);
report.atRest = hover.textContent;
const cell = document.getElementById("CELL");
const box = cell.querySelector("rect").getBoundingClientRect();
const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
const hit = document.elementFromPoint(x, y);
report.hit = hit.closest("g.cell").id;
hit.dispatchEvent(new MouseEvent("mouseover", {bubbles: true, clientX: x, clientY: y}));
report.hover = hover.textContent;
report.sharing = Array.from(document.querySelectorAll("g.sharing"), (other) => other.id);
hit.dispatchEvent(new MouseEvent("mouseout", {bubbles: true}));
report.after = hover.textContent;
// A window that is still opening has no focus to give, so the event is sent as that of the mouse is.
report.reachable = cells.every((other) => other.tabIndex === 0);
cells[0].dispatchEvent(new FocusEvent("focus"));
report.focus = hover.textContent;
report.fetched = performance.getEntriesByType("resource").map((entry) => entry.name);
document.getElementById("probe").textContent = JSON.stringify(report);
</script>
</body>"""


def opened(page: str, cell: str, folder: Path) -> dict:
    """What the probe reports about `page` when the pointer is on `cell`."""
    file = folder / "map.html"
    file.write_text(page.replace("</body>", PROBE.replace("CELL", cell)), encoding="utf-8")
    command = [CHROMIUM, *FLAGS, f"--user-data-dir={folder / 'profile'}", "--window-size=1200,2000"]
    run = subprocess.run(
        [*command, "--dump-dom", file.as_uri()],
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    found = re.search(r'<pre id="probe">(.*?)</pre>', run.stdout, re.DOTALL)
    assert found and found[1], (
        f"exit code {run.returncode}\n{run.stdout[-500:]}\n{run.stderr[-2000:]}"
    )
    return json.loads(unescape(found[1]))


def test_flash_attention(tmp_path):
    seen = opened(memory_html.render(flash_attention()), "m0-r0-b1-3", tmp_path)
    assert (seen["cells"], seen["visible"]) == (12, 12)
    assert seen["atRest"] == seen["after"] == "Point at a buffer, or reach it with the Tab key."
    assert seen["hit"] == "m0-r0-b1-3"
    assert seen["hover"].splitlines() == [
        "p[3]: columns 160..192",
        "4 x 32 columns",
        "shared > distinct > shared*2 > p",
        "over qk[1]",
    ]
    assert seen["sharing"] == ["m0-r0-b0-1"]
    assert seen["reachable"]
    assert seen["focus"].startswith("qk[0]: columns 0..128\n")
    assert seen["fetched"] == []


def test_two_memories_and_gaps(tmp_path):
    maps = (*gemm_ring(), *gaps())
    count = sum(len(row.cells) for m in maps for region in m.regions for row in region.rows)
    seen = opened(memory_html.render(maps), "m0-r2-b0-3", tmp_path)
    assert (seen["cells"], seen["visible"]) == (count, count)
    assert seen["hover"] == "empty[3]: bytes 24..32\n4 x 8 bytes\ngemm.py:8"
    assert seen["sharing"] == []
    assert seen["hatched"] == ['url("#padding")'] * 4 + ['url("#dead")']
    assert seen["fetched"] == []
