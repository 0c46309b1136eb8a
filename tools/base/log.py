"""Log lines: one event a line, whatever strangers put into it; JSON on request."""

from __future__ import annotations

import json
import logging
import logging.handlers
import re
import sys
import time
from pathlib import Path
from typing import TextIO

from .program import PACKAGE, as_typed_here
from .say import nobody_reads

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_TEXT = "%(asctime)s %(levelname)-7s %(message)s"

file_only = logging.getLogger(f"{__name__}.file_only")
"""What is logged here, no screen shows: start, hours and end of a run. The file has them at every
level: a run whose end is not there was killed."""
file_only.setLevel(logging.INFO)


class _OneLine(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        message = _CONTROL.sub(
            lambda match: f"\\x{ord(match[0]):02x}", as_typed_here(record.getMessage())
        )
        record.msg, record.args = message, None
        return True


class _Json(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        event = {
            "time": f"{moment}.{int(record.msecs):03}Z",
            "level": record.levelname.lower(),
            "module": record.name,
            "thread": record.threadName,
            "message": record.getMessage(),
        }
        if record.exc_info:
            event["traceback"] = self.formatException(record.exc_info)
        return json.dumps(event, ensure_ascii=False)


class _AboveTheBars(logging.StreamHandler[TextIO]):
    """Writes without tearing the progress bars. A line that nobody reads any more is lost; the
    file still has it."""

    def emit(self, record: logging.LogRecord) -> None:
        line = self.format(record)
        # Who logs may be out of files: it imports nothing, and before tqdm is there no bar is.
        bars = getattr(sys.modules.get("tqdm"), "tqdm", None)
        try:
            if bars is None:
                sys.stderr.write(f"{line}\n")
                sys.stderr.flush()
            else:
                bars.write(line, file=sys.stderr)
        except BrokenPipeError:
            nobody_reads(sys.stderr)
        except OSError:  # whoever logs has something else to do
            pass


class _Without(logging.Filter):
    """Start, hours and end of a run are for the file; how far it is every few seconds for whoever
    watches."""

    def filter(self, record: logging.LogRecord) -> bool:
        return record.name != self.name


class _Rotated(logging.handlers.RotatingFileHandler):
    """At most 60 MB. A line that finds no room on the disk is lost; stderr still has it."""

    def __init__(self, file: Path) -> None:
        super().__init__(file, maxBytes=10_000_000, backupCount=5, encoding="utf-8")

    def handleError(self, record: logging.LogRecord) -> None:
        if not isinstance(sys.exc_info()[1], OSError):
            super().handleError(record)


def set_up(file: Path | None, level: str, as_json: bool, quiet: bool) -> None:
    """To a rotated file, and to stderr: everything without a terminal, else what needs a look."""
    on_terminal = sys.stderr.isatty()
    shown = (
        "ERROR" if quiet else level.upper() if level == "debug" or not on_terminal else "WARNING"
    )
    stderr = _AboveTheBars(sys.stderr)
    stderr.setLevel(shown)
    stderr.addFilter(_Without(file_only.name))
    handlers: list[logging.Handler] = [stderr]
    if file is not None:
        handlers.append(_Rotated(file))
        handlers[-1].addFilter(_Without(f"{PACKAGE}.reports.progress"))
    formatter = _Json() if as_json else logging.Formatter(_TEXT)
    for handler in handlers:
        handler.setFormatter(formatter)
        handler.addFilter(_OneLine())
    # Others' debug lines are not ours to answer for: some hold what they send.
    others = max(logging.INFO, logging.getLevelNamesMapping()[level.upper()])
    logging.basicConfig(level=others, handlers=handlers, force=True)
    for ours in (PACKAGE, "__main__", "main"):
        logging.getLogger(ours).setLevel(level.upper())
    logging.getLogger("urllib3").setLevel("ERROR")
