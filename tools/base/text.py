"""Numbers, times and foreign texts as a person reads them in a terminal."""

from __future__ import annotations

import difflib
import re
import time
import unicodedata
from collections.abc import Iterable

MORE = "..."
SIZES = ("bytes", "kB", "MB", "GB", "TB", "PB")
# They turn the text around them, so that a name could pass for another one.
_TURNS = re.compile("[\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_STEERING = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")  # and halves of pairs

_UNITS = {
    **dict.fromkeys(("", "s", "second", "seconds"), 1.0),
    **dict.fromkeys(("m", "min", "minute", "minutes"), 60.0),
    **dict.fromkeys(("h", "hour", "hours"), 3600.0),
    **dict.fromkeys(("d", "day", "days"), 86_400.0),
    **dict.fromkeys(("w", "week", "weeks"), 7 * 86_400.0),
}
_AMOUNT = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)\s*([a-z]*)", re.ASCII)
_LONGEST_S = 1e10
_MOST_BYTES = 10**18


def duration(seconds: float) -> str:
    """
    >>> [duration(each) for each in (0, 59.6, 150, 8400, 10800, 100000, 1e6)]
    ['0 s', '60 s', '2 min', '2 h 20', '3 h', '27 h 46', '11 d 13 h']
    >>> duration(float("inf")) == duration(1e10)
    True
    """
    if seconds < 90:
        return f"{max(0.0, seconds):.0f} s"
    minutes = int(min(_LONGEST_S, seconds) / 60)
    if minutes < 90:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes:02}" if minutes else f"{hours} h"
    days, hours = divmod(hours, 24)
    return f"{days} d {hours} h" if hours else f"{days} d"


def seconds_of(said: object) -> float | None:
    """What somebody wrote as a duration; a number alone is seconds. None for what is none.

    >>> seconds_of("30 min"), seconds_of("24h"), seconds_of(90), seconds_of("soon")
    (1800.0, 86400.0, 90.0, None)
    """
    if isinstance(said, int | float) and not isinstance(said, bool):
        return float(said) if 0 <= said < _LONGEST_S else None
    found = _AMOUNT.fullmatch(said.strip().lower()) if isinstance(said, str) else None
    if found is None or found[2] not in _UNITS:
        return None
    return float(found[1]) * _UNITS[found[2]]


def bytes_of(said: object) -> int | None:
    """What somebody wrote as a size; a number alone is bytes. None for what is none.

    >>> bytes_of("512 MB"), bytes_of("1.5gb"), bytes_of(90), bytes_of("much")
    (512000000, 1500000000, 90, None)
    """
    if isinstance(said, int) and not isinstance(said, bool):
        return said if 0 <= said < _MOST_BYTES else None
    found = _AMOUNT.fullmatch(said.strip().lower()) if isinstance(said, str) else None
    units: dict[str, int] = {unit.lower(): 1000**power for power, unit in enumerate(SIZES)} | {
        "": 1,
        "b": 1,
    }
    if found is None or found[2] not in units:
        return None
    return round(float(found[1]) * units[found[2]])


def roughly(seconds: float) -> str:
    """For what nobody knows to the minute.

    >>> [roughly(each) for each in (42, 1000, 4000, 8500, 116_000, 400_000)]
    ['42 s', '17 min', '65 min', '2 h 20', '32 h', '4 d 18 h']
    """
    steps = ((90, 1), (1200, 60), (5400, 300), (36_000, 600), (172_800, 3600), (864_000, 21_600))
    step = next((step for below, step in steps if seconds < below), 86_400)
    return duration(round(seconds / step) * step)


def ago(seconds: float) -> str:
    """A moment that a jump of the clock put into the future is now.

    >>> ago(7200), ago(-5)
    ('2 h ago', 'just now')
    """
    return f"{duration(seconds)} ago" if seconds >= 1 else "just now"


def date(moment: float) -> str:
    """By the clock on the wall here; a moment no calendar has stays a number.

    >>> date(1e300)
    '1e+300'
    """
    try:
        return time.strftime("%Y-%m-%d %H:%M", time.localtime(moment))
    except (ValueError, OverflowError, OSError):
        return str(moment)


def amount(number: int, what: str) -> str:
    """
    >>> amount(1, "run"), amount(2000, "run")
    ('1 run', '2,000 runs')
    """
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def size(number: float) -> str:
    """
    >>> size(999), size(1_234_567), size(25e9)
    ('999 bytes', '1.2 MB', '25 GB')
    """
    at = 0
    while number >= 999.5 and at < len(SIZES) - 1:
        number, at = number / 1000, at + 1
    return f"{number:.1f} {SIZES[at]}" if number < 9.95 and at else f"{number:,.0f} {SIZES[at]}"


def pace(a_second: float) -> str:
    """A second, a minute or an hour, whichever reads best.

    >>> pace(12.34), pace(0.5), pace(0.001), pace(0)
    ('12.3/s', '30.0/min', '3.6/h', '0/s')
    """
    if not a_second:
        return "0/s"
    units = {"s": 1, "min": 60, "h": 3600}
    unit = next((unit for unit, seconds in units.items() if a_second * seconds >= 1), "h")
    number = a_second * units[unit]
    return f"{number:,.0f}/{unit}" if number >= 99.95 else f"{number:.1f}/{unit}"


def plain(text: str) -> str:
    """Nothing in it moves the cursor, breaks the line or turns it round.

    >>> plain("a\\tb\\x1b[2J"), plain("caf\\u00e9")
    ('a\\\\tb\\\\x1b[2J', 'café')
    """
    if text.isprintable():
        return text
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode() for each in text
    )


def one_line(text: str) -> str:
    r"""One line without characters that steer a terminal or turn the text around them.

    >>> one_line("a\x1b[31m\n b\u202ec ")
    'a [31m bc'
    """
    return " ".join(_STEERING.sub(" ", _TURNS.sub("", text)).split())


def storable(text: str) -> str:
    r"""Without what databases refuse: NUL, and halves of pairs of surrogates.

    >>> storable("a\x00b\ud800c"), storable("\U0001f600")
    ('ab\ufffdc', '\U0001f600')
    """
    pairs = text.replace("\x00", "").encode("utf-16-le", "surrogatepass")
    return pairs.decode("utf-16-le", "replace")


def width(text: str) -> int:
    """Columns in a terminal: some characters take two, some none.

    >>> width("dog"), width("犬"), width("e\\u0301")
    (3, 2, 1)
    """
    return len(text) if text.isascii() else sum(map(_columns, text))


def clipped(text: str, room: int) -> str:
    """
    >>> clipped("abcdefgh", 8), clipped("abcdefghi", 8), clipped("犬犬犬", 5)
    ('abcdefgh', 'abcde...', '犬...')
    """
    if width(text) <= room:
        return text
    end, used = 0, 0
    while used + _columns(text[end]) <= room - len(MORE):
        used += _columns(text[end])
        end += 1
    return text[:end] + MORE


def _columns(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def nearest(word: str, known: Iterable[str]) -> str | None:
    """
    >>> nearest("detial", ["home", "Detail"]), nearest("x", ["home"])
    ('Detail', None)
    """
    spellings = {each.lower(): each for each in known}
    near = difflib.get_close_matches(word.lower(), spellings, n=1, cutoff=0.5)
    return spellings[near[0]] if near else None


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """What follows the name of something that is not there; nothing if no right one is near.

    >>> did_you_mean("detial", ["home", "detail"]), did_you_mean("x", ["home"])
    ("; did you mean 'detail'?", '')
    """
    near = nearest(word, known)
    return f"; did you mean {near!r}?" if near else ""
