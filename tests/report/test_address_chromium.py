"""The page in a real browser: it draws, the pointer names a program, nothing is fetched."""

from __future__ import annotations

import json
import re
import subprocess
from html import unescape

import pytest

from tests.report.test_address_html import sourced
from tests.report.test_memory_chromium import CHROMIUM, FLAGS
from tilewright.analysis.pid_address import AccessProperties
from tilewright.report import address_html

pytestmark = pytest.mark.skipif(
    CHROMIUM is None,
    reason="CHROMIUM IS NOT INSTALLED, the page was not opened: run scripts/install_chromium.sh",
)

PROBE = """
<pre id="probe"></pre>
<script>
const seen = {};
const cells = Array.from(document.querySelectorAll("g.cell"));
const boxes = cells.map((cell) => cell.getBoundingClientRect());
seen.visible = boxes.filter((box) => box.width > 0 && box.height > 0).length;
seen.atRest = hover.textContent;
cells[1].dispatchEvent(new MouseEvent("mouseover", {bubbles: true}));
seen.hover = hover.textContent;
cells[1].dispatchEvent(new MouseEvent("mouseout", {bubbles: true}));
seen.after = hover.textContent;
const marks = cells.slice(0, 3).map((cell) => cell.querySelector("rect").getBoundingClientRect());
seen.ascending = marks[0].right <= marks[1].left + 1 && marks[1].right <= marks[2].left + 1;
seen.fetched = performance.getEntriesByType("resource").map((entry) => entry.name);
document.getElementById("probe").textContent = JSON.stringify(seen);
</script>
</body>"""


def test_vector_add(tmp_path):
    page = address_html.render(
        [sourced("vector_add", AccessProperties((5,), {"n_elements": 4992}))]
    )
    file = tmp_path / "page.html"
    file.write_text(page.replace("</body>", PROBE), encoding="utf-8")
    command = [CHROMIUM, *FLAGS, f"--user-data-dir={tmp_path / 'profile'}"]
    run = subprocess.run(
        [*command, "--dump-dom", file.as_uri()],
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    found = re.search(r'<pre id="probe">(.*?)</pre>', run.stdout, re.DOTALL)
    assert found and found[1], f"{run.returncode}\n{run.stdout[-500:]}\n{run.stderr[-2000:]}"
    seen = json.loads(unescape(found[1]))
    assert seen["visible"] == 9
    assert seen["atRest"] == seen["after"]
    assert seen["hover"] == "program (1, 0, 0): bytes 4096 to 8191, 1024 of 1024 lanes"
    assert seen["ascending"]
    assert seen["fetched"] == []
