"""The panel of `heft payload --live`: what is held now, what was held before, and where the recordings are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from heft.terminal.payloads import com_text, mass_text, recognised_text

__all__ = ["PayloadPanel"]

_WIDEST = 100  # columns
_BEFORE = 8  # lines of earlier pick-ups


class PayloadPanel:
    """Shown on a terminal while inside `shown`; `update` with each pick-up of which there is news."""

    def __init__(self, console: Console, robot: str, out: Path) -> None:
        self._console, self._robot, self._out = console, robot, out
        self._known: dict[int, Mapping[str, Any]] = {}
        self._live: Live | None = None
        self._hand = ""

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Draw it while inside; at the end a summary stays."""
        with Live(self.picture(), console=self._console, auto_refresh=False, transient=True) as live:
            self._live = live
            try:
                yield
            finally:
                self._live = None
        self._console.print(self._summary())

    def update(self, facts: Mapping[str, Any]) -> None:
        """Something new of a pick-up."""
        self._known[facts["number"]] = facts
        if self._live is not None:
            self._live.update(self.picture(), refresh=True)

    def hand_known(self, mass: float) -> None:
        """The bare hand has been learned, or was given [kg]."""
        self._hand = f"hand learned: {mass:.3f} kg"
        if self._live is not None:
            self._live.update(self.picture(), refresh=True)

    def picture(self) -> Panel:
        """What is held now in the middle, those before below."""
        now = next(reversed(self._known.values()), None)
        parts: list[Any] = []
        if now is None or now["state"] != "carried" or "mass" not in now:
            state = "waiting" if now is None or now["state"] != "carried" else "picked up, weighing"
            parts.append(Text.assemble((state, "bold cyan"), (f"  {self._hand}", "dim")))
        else:
            parts += [Text(mass_text(now), style="bold green"), *self._facts(now)]
        before = [one for one in self._known.values() if one is not now or one["state"] != "carried"]
        if before:
            parts += [Text(), self._table(before[-_BEFORE:])]
        title = f"{self._robot}: {len(self._known)} picked up"
        width = min(_WIDEST, self._console.width)
        return Panel(Group(*parts), title=title, subtitle=str(self._out), width=width, padding=(1, 2))

    def _facts(self, facts: Mapping[str, Any]) -> Iterator[Text]:
        rows = [("centre of mass", com_text(facts))]
        if "recognition" in facts:
            rows.append(("it is", recognised_text(facts["recognition"])))
        rows += [
            (name.upper(), str(facts["controllers"][name] or "hand not known")) for name in ("ur", "kuka")
        ]
        for name, value in rows:
            yield Text.assemble((f"{name:<16}", "dim"), value)

    def _table(self, pickups: list[Mapping[str, Any]]) -> Table:
        table = Table(box=None, pad_edge=False, header_style="dim")
        for column in ("", "mass", "it is", "end"):
            table.add_column(column)
        for one in pickups:
            known = "mass" in one
            name = recognised_text(one["recognition"]) if "recognition" in one else ""
            table.add_row(str(one["number"]), mass_text(one) if known else "no weight", name, one["state"])
        return table

    def _summary(self) -> Group:
        if not self._known:
            return Group(Text("nothing was picked up"))
        return Group(self._table(list(self._known.values())), Text(f"recordings  {self._out}"))
