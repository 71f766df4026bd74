"""`heft open`: a recording or a result on a page, in the browser."""

from __future__ import annotations

import argparse
import json
import sys
import webbrowser
from pathlib import Path

from heft.commands import replay
from heft.daq.errors import ConfigError
from heft.daq.recording import Recording
from heft.exit_codes import ExitCode

__all__ = ["add", "run"]


def add(parser: argparse.ArgumentParser) -> None:
    """Describe the command."""
    parser.add_argument("file", type=Path, metavar="FILE", help="a recording (.mcap) or a result (.json)")
    parser.add_argument("--no-browser", action="store_true", help="only tell the address")
    parser.add_argument("--port", type=int, default=0, help="of the page (default: any)")
    parser.add_argument("--json", action="store_true", help="print one JSON object on standard output")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """A result's report; a recording on a page, again and again until Ctrl-C."""
    file: Path = arguments.file
    if file.suffix == ".json":
        return _show_result(file, browser=not arguments.no_browser, json_output=arguments.json)
    Recording.open(file)
    parser = argparse.ArgumentParser()
    replay.add(parser)
    words = [str(file), "--page", "--loop", "--port", str(arguments.port)]
    words += [] if arguments.no_browser else ["--browser"]
    words += ["--json"] if arguments.json else []
    return replay.run(parser.parse_args(words))


def _show_result(file: Path, *, browser: bool, json_output: bool) -> int:
    """The report beside a result; written where there is none."""
    from heft.identify.result import load
    from heft.identify.result.report import Evidence, write_report

    result = load(file)
    report = file.with_name("report.html")
    if not report.is_file():
        try:
            write_report(result, report, Evidence.of_recordings(result, [], []))
        except OSError as exc:
            raise ConfigError(
                f"{report}: cannot be written: {exc.strerror}; copy the result elsewhere"
            ) from exc
    sys.stdout.write(json.dumps({"report": str(report)}) + "\n" if json_output else f"{report}\n")
    if browser:
        webbrowser.open(report.resolve().as_uri())
    return ExitCode.DONE
