"""What a visit of the built site costs, in Chromium: `python docs/_site/figures.py FOLDER`.

For the front page, a chapter and the playground, on a first visit and on the next:

    first paint, largest   seconds from the address to what is seen (the largest: the main thing)
    blocked                seconds in tasks longer than 50 ms, of what they are longer
    moved                  how far things jump while the page loads (CLS; good is below 0.1)
    first result           seconds from pressing Run, on a page that has just been opened
    MB                     sent by the server until there; and, to be kept for later, after it

The server is Python's, on this machine, so what a network adds is left out. Last, seconds to train
a network on drawn digits in the page.
"""

from __future__ import annotations

import shutil
import sys
import time
from typing import Any

from served import Server

OBSERVE = """
window.figures = {largest: 0, blocked: 0, moved: 0};
new PerformanceObserver((all) => all.getEntries().forEach((e) => {
  figures.largest = e.startTime; })).observe({type: "largest-contentful-paint", buffered: true});
new PerformanceObserver((all) => all.getEntries().forEach((e) => {
  figures.blocked += e.duration - 50; })).observe({type: "longtask", buffered: true});
new PerformanceObserver((all) => all.getEntries().forEach((e) => {
  if (!e.hadRecentInput) figures.moved += e.value;
})).observe({type: "layout-shift", buffered: true});
"""
FIRST = "from tutor import Tensor\nTensor([1.0, 2.0]) * 3"
TRAIN = """
import time, tutor
from tutor import data, nn, optim
digits = data.load("digits")
tutor.manual_seed(0)
model = nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))
opt, began = optim.Adam(model.parameters(), 1e-3), time.perf_counter()
for epoch in range(2):
    for x, y in data.batches(digits.train_images, digits.train_labels, 64, epoch=epoch):
        loss = model(x.reshape(-1, 784).cast("float32") / 255).cross_entropy(y)
        opt.zero_grad()
        loss.backward()
        opt.step()
took = time.perf_counter() - began
with tutor.no_grad():
    said = model(digits.test_images.reshape(-1, 784).cast("float32") / 255).argmax(axis=1)
right = (said == digits.test_labels.cast(said.dtype)).cast("float32").mean().item()
print(f"{2 * len(digits.train_labels)} digits in {took:.1f} s ({tutor.registry.current()}), "
      f"{100 * right:.1f} % of {len(digits.test_labels)} new ones right")
"""
PAGES = {"front page": "index.html", "chapter 0": "chapters/00_five_minutes.html",
         "playground": "playground.html"}  # fmt: skip


def run_cell(page: Any, code: str) -> str:
    """Run code in the first cell of a chapter, and what it shows."""
    page.wait_for_selector("html[data-live=ready]")
    cell = page.locator("div.cell:has(> .cell_input)").first
    cell.locator("textarea").fill(code)
    cell.get_by_role("button", name="Run cell").click()
    cell.locator(".live-mark:text-matches('^(done|error|stopped)')").wait_for(timeout=600_000)
    return str(cell.locator(".cell_output").inner_text()).strip()


def visit(context: Any, server: Server, path: str) -> str:
    """Open a page, and say what that costs; in a chapter also run a cell."""
    page = context.new_page()
    page.add_init_script(OBSERVE)
    before = server.sent
    page.goto(server.base + path, wait_until="load")
    page.wait_for_timeout(1500)  # the last things to be painted, or to move
    found = page.evaluate("figures")
    first = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    words = [f"first paint {first / 1000:.2f} s", f"largest {found['largest'] / 1000:.2f} s",
             f"blocked {found['blocked'] / 1000:.2f} s", f"moved {found['moved']:.3f}"]  # fmt: skip
    if "chapters" in path:
        began = time.perf_counter()
        shown = run_cell(page, FIRST)
        assert shown == "Tensor([3., 6.])", shown
        words.append(f"first result {time.perf_counter() - began:.2f} s after Run")
    until_now = server.sent
    page.wait_for_timeout(8000)  # the service worker keeps the site for the next visit
    words.append(
        f"{(until_now - before) / 1e6:.2f} MB, and {(server.sent - until_now) / 1e6:.2f} MB after"
    )
    page.close()
    return ", ".join(words)


def main(folder: str) -> None:
    from playwright.sync_api import sync_playwright

    server = Server(folder)
    with sync_playwright() as playwright:
        path = shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        for name, page in PAGES.items():
            context = browser.new_context()
            for which in ("first", "next"):
                print(f"{name}, {which} visit: {visit(context, server, page)}")
            context.close()
        page = browser.new_page()
        page.goto(server.base + PAGES["chapter 0"])
        print("training in the page:", run_cell(page, TRAIN))
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1])
