"""Takes the pictures of the service's page: `python docs/screenshots.py` writes docs/images/service-*.png.

A service on the simulated WAM weighs what it picks up, then runs an excitation session, and Chromium looks at its page.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

CHROMIUM = "/usr/bin/chromium"
IMAGES = Path(__file__).parent / "images"
RIG = "configs/rigs/sim_wam7.yaml"
#: Without a graphics processor edges are smoothed by drawing them twice as large.
SCALE = 2
COLOURS = 256


@dataclass(frozen=True)
class Picture:
    """`name` of the file, `width` and `height` [px], `scheme` of colours; taken when `ready` is true on the page."""

    name: str
    width: int
    height: int
    scheme: str
    ready: str


#: While something is weighed, and while the arm is identified.
WEIGHING = "heft.state.payloads.at(-1)?.recognition?.name && heft.state.payloads.at(-1).state === 'carried'"
IDENTIFYING = "document.querySelectorAll('#known .bar').length > 20 && heft.state.progress.seconds_done > 22"
PICTURES = {
    "/api/payload": (
        {"session": "pick_and_weigh.yaml"},
        (
            Picture("service", 1280, 1000, "light", WEIGHING),
            Picture("service-phone", 390, 844, "dark", WEIGHING),
        ),
    ),
    "/api/run": (
        {"session": "wam7_excitation.yaml"},
        (Picture("service-dark", 1920, 1080, "dark", IDENTIFYING),),
    ),
}


def main() -> int:
    """Exit code 0 when all are written."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory(prefix="heft-") as runtime:
        words = [sys.executable, "-P", "-m", "heft", "serve", RIG, "--port", "0", "--json", "--out", folder]
        service = subprocess.Popen(
            words, stdout=subprocess.PIPE, text=True, env={**os.environ, "XDG_RUNTIME_DIR": runtime}
        )
        try:
            assert service.stdout is not None
            _take_all(json.loads(service.stdout.readline())["url"].rstrip("/"))
        finally:
            service.send_signal(signal.SIGTERM)
            service.wait()
    return 0


def _take_all(url: str) -> None:
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=["--headless", "--no-sandbox"])
        for path, (request, pictures) in PICTURES.items():
            number = _ask(url + path, request)["number"]
            for picture in pictures:
                _take(browser, url, picture)
            _ask(f"{url}/api/stop", {})
            while _ask(f"{url}/api/jobs/{number}")["outcome"] is None:
                time.sleep(0.2)
        browser.close()


def _take(browser: Browser, url: str, picture: Picture) -> None:
    page = browser.new_page(
        viewport={"width": picture.width, "height": picture.height},
        device_scale_factor=SCALE,
        color_scheme="dark" if picture.scheme == "dark" else "light",
    )
    page.goto(url)
    while not page.evaluate(picture.ready):  # the page's policy forbids that a script waits there
        page.wait_for_timeout(200)
    page.wait_for_timeout(4000)
    taken = Image.open(BytesIO(page.screenshot()))
    small = taken.convert("RGB").resize((picture.width, picture.height), Image.Resampling.LANCZOS)
    small.quantize(COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(
        IMAGES / f"{picture.name}.png", optimize=True
    )
    page.close()


def _ask(url: str, body: dict[str, Any] | None = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=120) as answer:
        return json.loads(answer.read())


if __name__ == "__main__":
    sys.exit(main())
