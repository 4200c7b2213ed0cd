"""TensorBoard on a log, and Chromium that looks at it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

WIDTH, HEIGHT = 1280, 800
PATIENCE_S = 120.0
DEEP = """
function* all(root) { for (const e of root.querySelectorAll('*')) { yield e; if (e.shadowRoot) yield* all(e.shadowRoot); } }
function find(selector) { return [...all(document)].filter(e => e.matches(selector)); }
function text(node) {
  if (node.nodeType == Node.TEXT_NODE) return node.data.trim();
  if (/^(STYLE|SCRIPT|TEMPLATE|NOSCRIPT)$/i.test(node.tagName)) return '';
  const children = node.shadowRoot ? node.shadowRoot.childNodes : node.tagName == 'SLOT' ? node.assignedNodes() : node.childNodes;
  return [...children].map(text).filter(t => t).join('|');
}
"""  # what custom elements show is in trees of their own, which the usual queries do not enter


class Board:
    """One page of TensorBoard in a browser window."""

    def __init__(self, driver: Any, address: str, pictures: Path | None) -> None:
        self.driver, self._address, self._pictures = driver, address, pictures

    def open(self, dashboard: str) -> None:
        """Goes to a dashboard, as a click on its name does, with nothing chosen there yet."""
        self.driver.get("about:blank")
        self.driver.get(f"{self._address}#{dashboard}")

    def script(self, code: str, *arguments: Any) -> Any:
        """What JavaScript returns; ``find(selector)`` and ``text(element)`` see all that the page shows."""
        return self.driver.execute_script(DEEP + code, *arguments)

    def wait(self, condition: Callable[[], Any], expected: str) -> Any:
        """What ``condition`` gives as soon as that is true."""
        from selenium.common.exceptions import TimeoutException
        from selenium.webdriver.support.ui import WebDriverWait

        try:
            return WebDriverWait(self.driver, PATIENCE_S, 0.2).until(lambda _: condition())
        except TimeoutException:
            shown = self.script("return text(document.body)")
            pytest.fail(f"TensorBoard does not show {expected} in {PATIENCE_S:.0f} s; it shows {shown[-3000:]}")

    def texts(self, selector: str) -> list[str]:
        """The texts of the elements that a CSS selector matches."""
        return self.script("return find(arguments[0]).map(text)", selector)

    def wait_for(self, selector: str, *texts: str) -> list[str]:
        """The texts of the matching elements, when each of ``texts`` is part of one of them."""

        def shown() -> list[str]:
            there = self.texts(selector)
            return there if there and all(any(t in one for one in there) for t in texts) else []

        return self.wait(shown, f"{list(texts)} in {selector!r}")

    def click(self, selector: str, label: str = "") -> None:
        """Clicks the first matching element with this text."""
        code = "const e = find(arguments[0]).find(e => !arguments[1] || text(e) == arguments[1]); if (e) e.click(); return !!e"
        self.wait(lambda: self.script(code, selector, label), f"{label!r} in {selector!r}, to be clicked")

    def nodes(self) -> dict[str, str]:
        """The nodes that the graph page shows, with the colors that they are filled with."""
        shown = (
            "return find('g.node').map(g => [g.dataset.name, getComputedStyle(g.querySelector('.nodeshape > *')).fill])"
        )
        return dict(self.script(shown))

    def choose_node(self, name: str, *texts: str) -> str:
        """Clicks a node of the graph page until its card has these texts."""

        def card() -> str:
            self._click_node(name, "click")
            shown = "".join(self.texts("tf-node-info"))
            return shown if all(text in shown for text in texts) else ""

        return self.wait(card, f"a card of {name} with {texts}")

    def open_scope(self, name: str, *inside: str) -> None:
        """Opens a scope of the graph page, in which these nodes must be."""
        self._click_node(name, "dblclick")
        self.wait(lambda: {f"{name}/{node}" for node in inside} <= self.nodes().keys(), f"{inside} in {name}")

    def _click_node(self, name: str, event: str) -> None:
        shape = "find('g.node').find(g => g.dataset.name == arguments[0]).querySelector('.nodeshape > *')"
        self.script(f"{shape}.dispatchEvent(new MouseEvent(arguments[1], {{bubbles: true}}))", name, event)

    def enter_projector(self) -> None:
        """Goes to the projector, in a frame in a frame: scripts are about what is in it, until another dashboard is opened."""
        inner = "return find('vz-projector').length ? 'there' : find('iframe')[0]"
        while (found := self.wait(lambda: self.script(inner), "the projector or a frame")) != "there":
            self.driver.switch_to.frame(found)

    def picture(self, name: str, turning: bool = False) -> None:
        """Keeps what the window shows, in few colors, if there is a folder for pictures; ``turning``: it never stands still."""
        if self._pictures is None:
            return
        shots = [b"", self.driver.get_screenshot_as_png()]

        def stands_still() -> bool:
            shots.append(self.driver.get_screenshot_as_png())
            return shots[-2] == shots[-1]

        if not turning:
            self.wait(stands_still, "a page that stands still")
        image = Image.open(BytesIO(shots[-1])).convert("RGB")
        assert image.size == (WIDTH, HEIGHT)
        image.quantize(128, dither=Image.Dither.NONE).save(self._pictures / f"{name}.png", optimize=True)


@contextmanager
def tensorboard(folder: Path) -> Iterator[str]:
    """The address of a TensorBoard that shows the folder."""
    command = [sys.executable, "-m", "tensorboard.main", "--logdir", folder.name, "--port", "0"]
    with subprocess.Popen(command, cwd=folder.parent, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            lines = []
            for line in process.stderr:
                lines.append(line)
                if found := re.search(r"at (http://\S+)", line):
                    break
            else:
                pytest.fail(f"TensorBoard ended: {''.join(lines)}")
            yield found[1]
        finally:
            process.terminate()


@contextmanager
def browser() -> Iterator[Any]:
    """Debian's Chromium without a screen, driven by selenium; a reason to skip where one of them is missing."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="needs selenium: pip install 'headrace[browser]'")
    paths = [shutil.which(name) for name in ("chromium", "chromedriver")]
    if not all(paths):
        pytest.skip("needs Chromium and its driver: apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = paths[0]
    for argument in (
        "headless=new",
        "no-sandbox",
        "disable-dev-shm-usage",
        "hide-scrollbars",
        "enable-unsafe-swiftshader",
    ):
        options.add_argument(f"--{argument}")
    driver = webdriver.Chrome(options, webdriver.ChromeService(paths[1]))
    try:
        frame = driver.get_window_size()["height"] - driver.execute_script("return innerHeight")
        driver.set_window_size(WIDTH, HEIGHT + frame)
        yield driver
    finally:
        driver.quit()
