"""Takes the pictures of the service's page: `python docs/screenshots.py` writes docs/images/service-*.png.

A service on the simulated WAM weighs what it picks up, and Chromium looks at its page; at half speed, so that a busy
host takes the same pictures.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

from playwright.sync_api import sync_playwright

CHROMIUM = "/usr/bin/chromium"
IMAGES = Path(__file__).parent / "images"
RIG, SESSION = "configs/rigs/sim_wam7.yaml", "pick_and_weigh.yaml"
#: Name, width, height, colours, whole page.
PICTURES = (
    ("service", 1280, 900, "light", False),
    ("service-dark", 1920, 1080, "dark", False),
    ("service-phone", 390, 844, "light", False),
)


def main() -> int:
    """Exit code 0 when all are written."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory(prefix="heft-") as runtime:
        words = [sys.executable, "-P", "-m", "heft", "serve", RIG, "--port", "0", "--json", "--out", folder]
        service = subprocess.Popen(
            words, stdout=subprocess.PIPE, text=True, env={**os.environ, "XDG_RUNTIME_DIR": runtime}
        )
        try:
            assert service.stdout is not None
            url = json.loads(service.stdout.readline())["url"]
            _take(url)
        finally:
            service.send_signal(signal.SIGTERM)
            service.wait()
    return 0


def _take(url: str) -> None:
    body = json.dumps({"session": SESSION, "speed": 0.5}).encode()
    headers = {"content-type": "application/json"}
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=["--headless", "--no-sandbox"])
        urllib.request.urlopen(
            urllib.request.Request(f"{url}api/payload", body, headers), timeout=120
        ).close()
        for name, width, height, colours, whole in PICTURES:
            page = browser.new_page(
                viewport={"width": width, "height": height},
                color_scheme="dark" if colours == "dark" else "light",
            )
            page.goto(url)
            page.wait_for_selector("#hand .called", timeout=180_000)
            page.wait_for_timeout(4000)
            page.screenshot(path=IMAGES / f"{name}.png", full_page=whole)
            page.close()
        browser.close()


if __name__ == "__main__":
    sys.exit(main())
