"""Studio pages in a real browser: five scripts, two sizes, everything linked, nothing fetched."""

import json
import re
import shutil
import subprocess
import sys
from html import unescape
from pathlib import Path

import pytest

from tests.cli.test_studio import TILE, TLX, WAIT
from tests.report.test_memory_chromium import FLAGS

CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(
    CHROMIUM is None,
    reason="CHROMIUM IS NOT INSTALLED, no studio page was opened: run scripts/install_chromium.sh",
)
EXAMPLES = Path(__file__).parents[2] / "examples"
TL = (EXAMPLES / "tl/softmax.py").read_text()
MAX_BYTES = 5_000_000
MAX_SECONDS = 2

WATCH = """<head><script>
window.__errors = [];
window.addEventListener("error", (event) => window.__errors.push(event.message));
console.error = (...all) => window.__errors.push(all.join(" "));
</script>"""
# What a person would do and see, written into the page as JSON.
PROBE = """
<pre id="probe"></pre>
<script>
try {
const report = { ready: performance.now(), tab: state.tab, tabs: {}, width: innerWidth };
const all = (selector) => Array.from(document.querySelectorAll(selector));
for (const [name] of tabs()) {
  openTab(name);
  report.tabs[name] = tabBody.textContent.length;
  if (/\\[object|undefined|NaN/.test(tabBody.innerHTML)) window.__errors.push(`${name}: no text for a value`);
}
openTab("ir");
const linked = all("#source .ln").map((each) => each.dataset.p).filter((p) => document.querySelector(`#stage [data-p="${p}"]`));
report.linked = linked.length;
const hovered = document.querySelector(`#source [data-p="${linked[linked.length - 1]}"]`);
hovered.dispatchEvent(new MouseEvent("mouseover", { bubbles: true }));
report.lit = all("#stage .ln.lit").map((each) => each.dataset.p === hovered.dataset.p);
report.dark = getComputedStyle(document.body).backgroundColor;
const back = all("#stage .ln[data-p]").pop();
back.dispatchEvent(new MouseEvent("mouseover", { bubbles: true }));
report.back = all("#source .ln.lit").map((each) => each.dataset.p === back.dataset.p);
const stages = document.querySelectorAll("#view select option").length;
document.dispatchEvent(new KeyboardEvent("keydown", { key: "]", bubbles: true }));
report.stage = stages > 1 ? document.querySelector("#view select").selectedIndex : -1;
state.diff = true; drawTab();
report.changed = all("#stage .added, #stage .removed").length;
report.diffs = kernel().stages.filter((each) => each.kind === "ir").map((each, i, list) => {
  if (!i) return true;
  const rows = difference(list[i - 1].lines, each.lines);
  const count = (kinds) => rows.reduce((sum, [kind, id]) => sum + (kind === "…" ? id : kinds.includes(kind) ? 1 : 0), 0);
  return count(" +") === each.lines.length && count(" -") === list[i - 1].lines.length;
});
if (data.timeline) {
  openTab("timeline");
  chart.fit();
  const spans = all(".chart .op").length;
  chart.zoom(8);
  report.zoomed = [spans, all(".chart .op").length, chart.view.to - chart.view.from];
  const before = chart.view.from;
  document.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true }));
  report.panned = chart.view.from - before;
  chart.fit();
  report.lanes = all(".chart .lane").map((each) => each.dataset.name);
  const shared = all(".chart .lane").find((each) => each.dataset.name === "box[0]");
  if (shared) {
    shared.querySelector("text").dispatchEvent(new MouseEvent("mouseover", { bubbles: true }));
    report.sharing = all(".chart .lane.sharing").map((each) => each.dataset.name);
  }
}
if (data.failed) {
  openTab("fault");
  report.fault = { circles: all(".chart .finding circle").length, edges: all(".chart .edge").length,
    cells: all(".cell.fault").map((each) => each.dataset.label.split("\\n")[0]), lines: all("#source .ln.bad").map((each) => each.dataset.p),
    red: all(".cell.fault rect").map((each) => getComputedStyle(each).stroke) };
}
report.focusable = all(".place, .cell, .op").every((each) => each.tabIndex === 0);
report.overflow = document.documentElement.scrollWidth > innerWidth || document.documentElement.scrollHeight > innerHeight;
document.documentElement.dataset.theme = "dark";
report.light = getComputedStyle(document.body).backgroundColor;
report.fetched = performance.getEntriesByType("resource").map((entry) => entry.name);
report.errors = window.__errors;
document.getElementById("probe").textContent = JSON.stringify(report);
} catch (error) { document.getElementById("probe").textContent = JSON.stringify({ errors: [String(error.stack)] }); }
</script>
</body>"""


def made(folder: Path, source: str, *flags: str) -> str:
    """The page of a script, made by the command."""
    (folder / "script.py").write_text(source)
    command = [sys.executable, "-m", "tilewright", "studio", *flags, "script.py"]
    run = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=170, check=False
    )
    assert run.returncode == 0, run.stderr
    return (folder / "script.html").read_text()


def opened(page: str, folder: Path, width: int) -> dict:
    """What the probe reports of a page in a window of that width."""
    file = folder / "probe.html"
    page = page.replace("<head>", WATCH, 1)
    end = page.rindex("</body>")
    file.write_text(page[:end] + PROBE + page[end + len("</body>") :])
    command = [
        CHROMIUM,
        *FLAGS,
        f"--user-data-dir={folder / 'profile'}",
        f"--window-size={width},900",
    ]
    run = subprocess.run(
        [*command, "--dump-dom", file.as_uri()],
        capture_output=True,
        text=True,
        timeout=170,
        check=False,
    )
    found = re.search(r'<pre id="probe">(.*?)</pre>', run.stdout, re.DOTALL)
    assert found and found[1], f"{run.returncode}\n{run.stdout[-500:]}\n{run.stderr[-2000:]}"
    return json.loads(unescape(found[1]))


def check(report: dict, width: int) -> None:
    """What holds for every page."""
    assert report["errors"] == []
    assert report["fetched"] == []
    assert report["width"] == width
    assert not report["overflow"]
    assert report["ready"] < MAX_SECONDS * 1000
    assert all(length > 0 for length in report["tabs"].values()), report["tabs"]
    assert report["linked"] >= 3
    assert report["lit"] and all(report["lit"])
    assert report["back"] == [True]
    assert report["stage"] in (1, -1)
    assert report["diffs"] and all(report["diffs"])
    assert report["focusable"]
    assert report["light"] != report["dark"]


SCRIPTS = {
    "tl": (TL, ()),
    "tlx": (TLX.format(wait=WAIT), ()),
    "T": (TILE, ()),
    "tenstorrent": (
        TILE.replace("block=32", "block=1024").replace("np.ones(100", "np.ones(2048"),
        ("--target", "tenstorrent:wormhole"),
    ),
}


@pytest.mark.parametrize(("name", "width"), [(name, 1280) for name in SCRIPTS])
def test_every_language_is_linked_to_its_source(name, width, tmp_path):
    source, flags = SCRIPTS[name]
    report = opened(made(tmp_path, source, *flags), tmp_path, width)
    check(report, width)
    assert report["tab"] == "ir"
    assert report["changed"] > 0
    if name == "tlx":
        assert {"default", "partition0", "box[0]", "half[0]"} <= set(report["lanes"])
        assert report["sharing"] == ["half[0]"]
    if name in ("tlx", "tenstorrent"):
        total, seen, span = report["zoomed"]
        assert 0 < seen <= total
        assert report["panned"] == pytest.approx(span / 4, rel=0.1)


def test_a_failing_run_opens_at_the_fault(tmp_path):
    report = opened(made(tmp_path, TLX.format(wait="pass")), tmp_path, 2560)
    check(report, 2560)
    assert report["tab"] == "fault"
    assert report["fault"]["circles"] == 2
    assert report["fault"]["edges"] == 1
    assert report["fault"]["cells"] == ["box[0]: bytes 0..128"]
    accesses = ("local_load(box[0])", "local_store(box[0]")
    lines = [
        f"0:{line}"
        for line, text in enumerate(TLX.split("\n"), 1)
        if any(access in text for access in accesses)
    ]
    assert set(lines) <= set(report["fault"]["lines"])
    assert report["fault"]["red"] == ["rgb(176, 0, 32)"]


@pytest.mark.slow
def test_hopper_attention_is_small_and_quick(tmp_path):
    page = made(tmp_path, (EXAMPLES / "tlx/hopper_attention_persistent.py").read_text())
    assert len(page.encode()) < MAX_BYTES
    check(opened(page, tmp_path, 1280), 1280)


@pytest.mark.slow
def test_a_long_run_is_usable(tmp_path):
    """A GEMM with 128 steps along K: thousands of events, of which the visible ones are drawn."""
    source = (EXAMPLES / "tlx/hopper_gemm_ws.py").read_text()
    long = source[: source.index('if __name__ == "__main__"')] + (
        "rng = np.random.default_rng(0)\n"
        "a = rng.standard_normal((128, 4096)).astype(np.float16)\n"
        "b = rng.standard_normal((4096, 64)).astype(np.float16)\n"
        "gemm(a, b, SMALL)\n"
    )
    report = opened(made(tmp_path, long), tmp_path, 1280)
    check(report, 1280)
    total, seen, _ = report["zoomed"]
    assert total > 500
    assert seen < total / 2
