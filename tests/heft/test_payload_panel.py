"""The panel of `heft payload --live`, and the page that is left at the end."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from rich.console import Console

from heft.terminal.payload_page import write_payload_page
from heft.terminal.payload_panel import PayloadPanel

HAMMER: dict[str, Any] = {
    "number": 1,
    "state": "carried",
    "mass": 0.683,
    "com": [0.111, 0.001, 0.1445],
    "std": {"mass": 0.0005, "com": [0.0001, 0.0001, None]},
    "recognition": {
        "verdict": "known",
        "name": "hammer",
        "grasp": None,
        "candidates": [{"name": "hammer", "probability": 0.99}],
    },
    "controllers": {"ur": "set_target_payload(1.6, [0, 0, 0.1])", "kuka": None},
    "notes": ["<script>alert(1)</script>"],
}


def picture(panel: PayloadPanel) -> str:
    console = Console(file=io.StringIO(), width=90)
    console.print(panel.picture())
    return str(console.file.getvalue())  # type: ignore[attr-defined]


def test_from_waiting_to_released() -> None:
    out = io.StringIO()
    panel = PayloadPanel(Console(file=out, width=90), "wam7", Path("sessions/x"))
    assert "waiting" in picture(panel)
    panel.hand_known(0.9358)
    assert "waiting  hand learned: 0.936 kg" in picture(panel)
    with panel.shown():
        panel.update({"number": 1, "state": "carried"})
        assert "weighing" in picture(panel)
        panel.update(HAMMER)
        shown = picture(panel)
        for part in (
            "0.68300 ± 0.00098 kg",
            "hammer (99%)",
            "set_target_payload",
            "sessions/x",
            "1 picked up",
        ):
            assert part in shown
        panel.update({**HAMMER, "state": "released"})
        assert "waiting" in picture(panel)
        assert "released" in picture(panel)
    assert "recordings  sessions/x" in out.getvalue()


def test_the_page(tmp_path: Path) -> None:
    path = write_payload_page(tmp_path, "wam7", [HAMMER, {"number": 2, "state": "nothing"}])
    text = path.read_text()
    assert "0.68300 ± 0.00098 kg" in text
    assert "pickup-001.mcap" in text
    assert "<script>" not in text
