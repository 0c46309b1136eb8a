"""What a setting may be, said beside its field. A wrong one is refused in a sentence that names it.

A section of the settings is a frozen dataclass. Its numbers carry their bounds (`bounded`); what
numbers alone cannot say stands in its method `check`, which gets the section's name with a dot
behind it, such as `http.`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field, fields, is_dataclass
from typing import Any, NamedTuple, Protocol, TypeVar, runtime_checkable
from urllib.parse import urlsplit

from ..errors import WrongSetting
from .config import unknown

T = TypeVar("T")

DAY_S, YEAR_S = 86_400, 366 * 86_400
BOUNDS = "bounds"  # where a field's metadata hold them


class Bounds(NamedTuple):
    """Beyond `most` a setting is a slip of the finger, or more than threads, waits and buffers
    can take."""

    least: float | None
    above: float | None
    most: float | None

    def check(self, name: str, value: float) -> None:
        if self.least is not None:
            meaning = "0 or more" if self.least == 0 else f"at least {self.least:,}"
            require(value >= self.least, f"{name} must be {meaning}")
        if self.above is not None:
            require(value > self.above, f"{name} must be more than {self.above:,}")
        if self.most is not None:
            require(value <= self.most, f"{name} must be at most {self.most:,}")


@runtime_checkable
class Checked(Protocol):
    """A section with more to say than bounds."""

    def check(self, where: str) -> None: ...


def bounded(
    default: T,
    *,
    least: float | None = None,
    above: float | None = None,
    most: float | None = None,
) -> T:
    """A field with this default; what is None is always within its bounds."""
    return field(default=default, metadata={BOUNDS: Bounds(least, above, most)})


def check(settings: Any, where: str = "") -> None:
    """Raises WrongSetting for the first that is wrong, here or in a section below."""
    for each in fields(settings):
        value, name = getattr(settings, each.name), where + each.name
        if is_dataclass(value):
            check(value, f"{name}.")
        elif value is not None and BOUNDS in each.metadata:
            each.metadata[BOUNDS].check(name, value)
    if isinstance(settings, Checked):
        settings.check(where)


def require(holds: bool, sentence: str, name: str | None = None) -> None:
    """A sentence that begins with the setting's name needs to say it only once."""
    if not holds:
        raise WrongSetting(name or sentence.partition(" ")[0], sentence)


def require_known(
    what: str, names: Iterable[str], known: Sequence[str], setting: str, otherwise: str = ""
) -> None:
    """With the nearest right name; `otherwise` is what is said if none is near."""
    for name in names:
        if name not in known:
            sentence = unknown(name, name, known, otherwise).replace("setting", what, 1)
            raise WrongSetting(setting, sentence)


def require_one_of(name: str, value: str, choices: Sequence[str]) -> None:
    require(value in choices, f"{name} must be one of {', '.join(choices)}")


def is_web_address(url: str) -> bool:
    """
    >>> is_web_address("http://host:80/x"), is_web_address("host"), is_web_address("http://h:x")
    (True, False, False)
    """
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
