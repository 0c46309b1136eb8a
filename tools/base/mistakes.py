"""What is wrong with a file that somebody wrote: every mistake with its place and the nearest right
name."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from ..errors import UsageError, WrongSetting
from .text import bytes_of, clipped, did_you_mean, plain, seconds_of

MOST = 50  # the first ones say enough
LONGEST, LONGEST_PLACE = 300, 150  # characters of a mistake


class Mistakes:
    """Of one file, in the order in which they are found."""

    def __init__(self, file: str) -> None:
        self.file = file
        self._found: list[str] = []

    def __len__(self) -> int:
        return len(self._found)

    def add(self, place: str, sentence: str) -> None:
        """At a place such as `layers.list.next[1].to`."""
        self.say(f"{clipped(place, LONGEST_PLACE)}: {sentence}")

    def say(self, sentence: str) -> None:
        self._found.append(f"{self.file}: {clipped(plain(sentence), LONGEST)}")

    def raise_if_any(self) -> None:
        if self._found:
            told = [*dict.fromkeys(self._found)]
            rest = [f"{self.file}: ... and {len(told) - MOST:,} more"] if len(told) > MOST else []
            raise UsageError("\n".join([*told[:MOST], *rest]))


class Section:
    """A table of the file. What is read from it is of the kind that was asked for, or a mistake
    and the default; a key that it should not have is a mistake."""

    noun = "a table"

    def __init__(
        self, said: Any, place: str, mistakes: Mistakes, known: Collection[str] | None = None
    ) -> None:
        self.place = place
        self.mistakes = mistakes
        self.said: Mapping[str, Any] = said if isinstance(said, Mapping) else {}
        if not isinstance(said, Mapping):
            mistakes.add(place, f"must be {self.noun}, not {shown(said)}")
        for key in self.said:
            if known is not None and key not in known:
                hint = did_you_mean(key, known) or f"; known: {', '.join(known)}"
                mistakes.add(self.at(key), f"no such key{hint}")

    def __contains__(self, key: str) -> bool:
        return key in self.said

    def at(self, key: str) -> str:
        return f"{self.place}.{key}" if self.place else key

    def wrong(self, key: str, sentence: str) -> None:
        self.mistakes.add(self.at(key), sentence)

    def text(self, key: str, default: str = "") -> str:
        return self._of(key, str, default, "text")  # type: ignore[no-any-return]

    def flag(self, key: str, default: bool) -> bool:
        return self._of(key, bool, default, "true or false")  # type: ignore[no-any-return]

    def whole(self, key: str, default: Any, least: int = 0, most: int = 1_000_000) -> Any:
        value = self._of(key, int, default, "a whole number")
        if key in self.said and type(value) is int and not least <= value <= most:
            self.wrong(key, f"must be from {least:,} to {most:,}")
            return default
        return value

    def number(self, key: str, default: Any) -> Any:
        value = self.said.get(key, default)
        if key in self.said and (type(value) not in (int, float) or not 0 <= value < 1e9):
            self.wrong(key, f"must be a number, 0 or more, not {shown(value)}")
            return default
        return value

    def choice(self, key: str, choices: Sequence[str], default: str) -> str:
        value = self.text(key, default)
        if value != default and value not in choices:
            hint = did_you_mean(value, choices) or f"; it must be one of {', '.join(choices)}"
            self.wrong(key, f"no {value!r}{hint}")
            return default
        return value

    def texts(self, key: str, default: Sequence[str] = ()) -> tuple[str, ...]:
        value = self.said.get(key, default)
        if not isinstance(value, list | tuple) or not all(isinstance(each, str) for each in value):
            self.wrong(key, f"must be a list of texts, not {shown(value)}")
            return tuple(default)
        return tuple(value)

    def among(self, key: str, known: Iterable[str], what: str) -> tuple[str, ...]:
        """Names, each of something that there is."""
        choices, names = list(known), self.texts(key)
        for name in names:
            if name not in choices:
                self.wrong(key, f"no {what} {name!r}{did_you_mean(name, choices)}")
        return tuple(name for name in names if name in choices)

    def seconds(self, key: str, default: Any) -> Any:
        value = self.said.get(key, default)
        if key not in self.said:
            return default
        found = seconds_of(value)
        if found is None:
            self.wrong(key, f'must be like "30 min", "24 h" or 90 (seconds), not {shown(value)}')
        return default if found is None else found

    def bytes(self, key: str, default: Any) -> Any:
        if key not in self.said:
            return default
        found = bytes_of(self.said[key])
        if not found:
            self.wrong(key, f'must be like "512 MB" or 90 (bytes), not {shown(self.said[key])}')
        return found or default

    def section(self, key: str, known: Collection[str] | None = None) -> Section:
        return type(self)(self.said.get(key, {}), self.at(key), self.mistakes, known)

    def sections(self, key: str, known: Collection[str]) -> Iterator[Section]:
        """Of a list of tables."""
        value = self.said.get(key, [])
        if not isinstance(value, list):
            self.wrong(key, f"must be a list of tables, not {shown(value)}")
            return
        for number, each in enumerate(value):
            yield type(self)(each, f"{self.at(key)}[{number}]", self.mistakes, known)

    def _of(self, key: str, kind: type, default: Any, name: str) -> Any:
        value = self.said.get(key, default)
        if key in self.said and type(value) is not kind:
            self.wrong(key, f"must be {name}, not {shown(value)}")
            return default
        return value


def shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def is_cron(text: str) -> bool:
    from .crontab import parse  # it takes a scheduler with it

    try:
        parse(text, "at")
    except WrongSetting:
        return False
    return True
