"""Settings: one file, flags on top, mistakes named, secrets never shown."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest

from tests.support.toml import loaded, refusal, whole_refusal
from tools.base.bounds import BOUNDS
from tools.base.settings import LogSettings
from tools.conceptnet.rules import RELATIONS
from tools.conceptnet.settings import LIMITS, FilterSettings
from tools.errors import UsageError
from tools.jobs.conceptnet_description import CONCEPTNET
from tools.network.settings import HttpSettings, ProxySettings
from tools.settings import (
    DEFAULT_FILE,
    FILE_WORKERS,
    Settings,
    load,
)

pytestmark = pytest.mark.usefixtures("no_settings")

EXAMPLE = Path(__file__).parents[2] / "sheaf.example.toml"


# ---- where settings come from


def test_without_a_file_and_flags_there_are_the_defaults() -> None:
    assert load(None, {}) == Settings()


def test_the_defaults_are_those_of_the_documents() -> None:
    settings = Settings()
    assert settings.seeds == ("/c/en/pet",)
    assert (settings.fetch_workers, settings.extend_workers) == (8, 5)
    assert settings.filter == FilterSettings(
        languages=("en",), min_weight=1.0, relations=RELATIONS, senses=True
    )
    assert settings.proxy == ProxySettings(file=None, urls=())
    assert settings.graph_url == "sqlite:state/graph.db"
    assert settings.pools_file == Path("state/pools.db")


def test_the_file_in_the_folder_is_read_by_itself() -> None:
    DEFAULT_FILE.write_text("fetch_workers = 3\n", encoding="utf-8")
    assert load(None, {}).fetch_workers == 3


def test_a_named_file_is_read_instead_of_it() -> None:
    DEFAULT_FILE.write_text("fetch_workers = 3\nattempts = 9\n", encoding="utf-8")
    settings = loaded("fetch_workers = 4")
    assert (settings.fetch_workers, settings.attempts) == (4, 5)


def test_every_kind_of_setting_can_be_written() -> None:
    settings = loaded(
        """
        seeds = ["/c/en/dog", "/c/de/hund/n"]
        graph = "sqlite:elsewhere.db"
        media = "~/media"
        limit = 10
        stop_grace_s = 5
        [filter]
        languages = ["en", "de"]
        min_weight = 2
        relations = ["IsA", "NotDesires"]
        senses = false
        [http]
        contact = "me@example.org"
        limits = { "api.conceptnet.io" = ["60/minute"] }
        [log]
        level = "debug"
        json = true
        """
    )
    assert settings.seeds == ("/c/en/dog", "/c/de/hund/n")
    assert settings.graph_url == "sqlite:elsewhere.db"
    assert settings.media == Path.home() / "media"
    assert (settings.limit, settings.depth) == (10, None)
    assert settings.stop_grace_s == 5.0
    assert settings.filter == FilterSettings(
        languages=("en", "de"), min_weight=2.0, relations=("IsA", "NotDesires"), senses=False
    )
    assert settings.http == HttpSettings(
        contact="me@example.org", limits={"api.conceptnet.io": ("60/minute",)}
    )
    assert settings.log == LogSettings(level="debug", json=True)


def test_the_limit_of_the_source_stays_unless_limits_are_written() -> None:
    """Asking hosts knows of no source: which one has a limit is added where all comes together."""
    assert HttpSettings().limits == {}
    assert loaded("[http]\ntries = 2").http.limits == LIMITS == Settings().http.limits
    assert loaded("[http]\nlimits = {}").http.limits == {}


def test_flags_win_over_the_file() -> None:
    settings = loaded("fetch_workers = 3\nattempts = 9\n", fetch_workers=4)
    assert (settings.fetch_workers, settings.attempts) == (4, 9)


def test_flags_that_were_not_given_change_nothing() -> None:
    assert loaded("fetch_workers = 3", fetch_workers=None, limit=None).fetch_workers == 3


def test_a_flag_may_be_a_path_and_a_tuple() -> None:
    settings = loaded("", state=Path("here"), seeds=("/c/en/cat",))
    assert (settings.state, settings.seeds) == (Path("here"), ("/c/en/cat",))
    assert settings.graph_url == "sqlite:here/graph.db"


# ---- mistakes


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("fetch_worker = 3", "unknown setting fetch_worker; did you mean fetch_workers?"),
        (
            '[filter]\nlanguage = ["en"]',
            "unknown setting filter.language; did you mean filter.languages?",
        ),
        (
            "[http]\nanswer_timeout = 3",
            "unknown setting http.answer_timeout; did you mean http.answer_timeout_s?",
        ),
        ("[log]\nzzz = 1", "unknown setting log.zzz; known: level, json"),
        ("[loq]\nlevel = 'info'", "unknown setting loq; did you mean log?"),
    ],
)
def test_unknown_settings_are_refused_with_the_nearest_name(text: str, sentence: str) -> None:
    assert refusal(text) == sentence


def test_unknown_flags_are_refused_too() -> None:
    assert "did you mean depth?" in refusal("", dept=3)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('fetch_workers = "8"', "fetch_workers must be a whole number, not '8'"),
        ("fetch_workers = 8.0", "fetch_workers must be a whole number, not 8.0"),
        ("fetch_workers = true", "fetch_workers must be a whole number, not True"),
        ("limit = 'all'", "limit must be a whole number, not 'all'"),
        ("stop_grace_s = '1'", "stop_grace_s must be a number, not '1'"),
        ("stop_grace_s = true", "stop_grace_s must be a number, not True"),
        ("source = 5", "source must be text, not 5"),
        ("seeds = '/c/en/dog'", "seeds must be a list of texts, not '/c/en/dog'"),
        ("seeds = [1]", "seeds must be a list of texts, not [1]"),
        ("media = 1", "media must be a path, not 1"),
        ("media = ''", "media must be a path, not ''"),
        ("[filter]\nsenses = 1", "filter.senses must be true or false, not 1"),
        ("[http]\nlimits = ['1/day']", "http.limits must be a table of lists of texts"),
        ("[http]\nlimits = {a = '1/day'}", "http.limits must be a table of lists of texts"),
        ("log = 'debug'", "log is a section: write [log] and its settings below it"),
    ],
)
def test_wrong_kinds_are_refused(text: str, sentence: str) -> None:
    assert refusal(text).startswith(sentence)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("fetch_workers = 0", "fetch_workers must be at least 1"),
        ("extend_workers = -1", "extend_workers must be at least 1"),
        ("attempts = 0", "attempts must be at least 1"),
        ("limit = 0", "limit must be at least 1"),
        ("reserve_bytes = -1", "reserve_bytes must be 0 or more"),
        ("[clock]\nkeep = 0", "clock.keep must be at least 1"),
        ("[clock]\nhang_s = 0", "clock.hang_s must be more than 0"),
        ("[notices]\nsource_down_s = -1", "notices.source_down_s must be 0 or more"),
        ("[notices]\ntimeout_s = 0", "notices.timeout_s must be more than 0"),
        ("depth = -1", "depth must be 0 or more"),
        ("[log]\nlevel = 'loud'", "log.level must be one of debug, info, warning, error"),
        ("[filter]\nlanguages = []", "filter.languages must name at least one language"),
        ("[filter]\nmin_weight = nan", "filter.min_weight must be a number, not nan"),
        ("stop_grace_s = -1", "stop_grace_s must be 0 or more"),
        ("stop_grace_s = inf", "stop_grace_s must be a number, not inf"),
        ("[http]\nanswer_timeout_s = 0", "http.answer_timeout_s must be more than 0"),
        ("[http]\nanswer_timeout_s = inf", "http.answer_timeout_s must be a number, not inf"),
        ("[http]\nconnect_timeout_s = -1", "http.connect_timeout_s must be more than 0"),
        ("[http]\nmax_bytes = 0", "http.max_bytes must be more than 0"),
        ("[http]\ntries = 0", "http.tries must be more than 0"),
    ],
)
def test_values_that_make_no_sense_are_refused(text: str, sentence: str) -> None:
    assert refusal(text) == sentence


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("\n# limit = 5\nlimit = 0", 3),
        ("seeds = ['/c/en/dog']\n\n[transport]\nevery_hours = 30", 4),
        ("[http]\ntries = 'x'\n[log]\nlevel = 'loud'", 2),
        ("[log]\nlevel = 'loud'", 2),
        ("[filter]\nsenses = true\nrelations = [\n  'Isa',\n]", 3),
        ("[extend]\nimages = 1\n[extend.servers]\ncommons = 'x'", 4),
        ("[extend]\nservers = {commons = 'x'}", 2),
        ("[loq]\nlevel = 'info'", 1),
        ("limit = 3\n[transport]\nuser = 'me'", 2),
        ("[clock]\nkeep = 3\nsnapshot = 'hourly'", 3),
        ("[notices]\nprogress_times = '61 * * * *'", 2),
    ],
)
def test_a_wrong_setting_is_told_with_its_file_and_line(text: str, line: int) -> None:
    assert whole_refusal(text).endswith(f" (other.toml, line {line})")


def test_a_wrong_flag_is_not_blamed_on_the_file() -> None:
    sentence = "fetch_workers must be at least 1"
    assert whole_refusal("fetch_workers = 3", fetch_workers=0) == sentence
    assert whole_refusal("", fetch_workers=0) == sentence


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("extend_workers = 999999999", "extend_workers must be at most 1,000"),
        ("fetch_workers = 100000", "fetch_workers must be at most 1,000"),
        ("[http]\ntries = 101", "http.tries must be at most 100"),
        ("[extend]\nimages = 1001", "extend.images must be at most 1,000"),
        ("[extend]\npatience_days = -1", "extend.patience_days must be 0 or more"),
        ("[extend]\nenough = -1", "extend.enough must be 0 or more"),
        ("[clock]\nkeep = 100001", "clock.keep must be at most 100,000"),
        ("[transport]\nport = 65536", "transport.port must be at most 65,535"),
        ("[transport]\nconnections = 101", "transport.connections must be at most 100"),
        ("stop_grace_s = 1e300", "stop_grace_s must be at most 86,400"),
    ],
)
def test_values_beyond_all_reason_are_refused(text: str, sentence: str) -> None:
    assert refusal(text) == sentence


def test_every_number_has_an_upper_bound_or_needs_none() -> None:
    defaults = {name: attrgetter(name)(Settings()) for name in settings_of(Settings)}
    numbers = {name for name, value in defaults.items() if type(value) in (int, float)}
    unset = {name for name, value in defaults.items() if value is None}
    assert numbers - UNBOUNDED == set(bounded_above(Settings())) - unset


def bounded_above(settings: Any, where: str = "") -> Iterator[str]:
    for each in fields(settings):
        if is_dataclass(value := getattr(settings, each.name)):
            yield from bounded_above(value, f"{where}{each.name}.")
        elif BOUNDS in each.metadata and each.metadata[BOUNDS].most is not None:
            yield where + each.name


UNBOUNDED = {
    *("limit", "depth", "filter.min_weight", "dump.max_malformed", "extend.enough"),
    *("extend.min_side", "extend.min_seconds", "extend.max_seconds", "extend.max_pixels"),
    *("extend.max_frames", "extend.max_frame_pixels", "transport.every_hours"),
}
"""Counted with only, or bounded otherwise."""


@pytest.mark.parametrize("text", ["fetch_workers = ", "a = 1\na = 2", "[log", "\ufefflimit = 1"])
def test_a_file_that_is_no_toml_is_named(text: str) -> None:
    assert refusal(text).startswith("other.toml is not valid TOML: ")


def test_bytes_that_are_no_text_are_no_toml() -> None:
    Path("bad.toml").write_bytes(b"source = '\xff'")
    with pytest.raises(UsageError, match=r"^bad\.toml is not valid TOML: "):
        load(Path("bad.toml"), {})


@pytest.mark.parametrize(("name", "why"), [("none.toml", "No such file"), (".", "Is a directory")])
def test_a_file_that_cannot_be_read_is_named(name: str, why: str) -> None:
    with pytest.raises(UsageError, match=f"cannot read the settings file {re.escape(name)}: {why}"):
        load(Path(name), {})


# ---- the example


def uncommented(text: str) -> str:
    """The example with every setting in force; `#:` begins prose."""
    lines = (line for line in text.splitlines() if not line.startswith("#:"))
    return "\n".join(re.sub(r"^# ?", "", line) for line in lines)


def settings_of(cls: Any, where: str = "") -> Iterator[str]:
    for each in fields(cls):
        value = getattr(cls(), each.name)
        if is_dataclass(value):
            yield from settings_of(type(value), f"{where}{each.name}.")
        elif each.repr:
            yield where + each.name


LEAVES = ("http.limits", "extend.servers", "databases")


def names_in(table: dict[str, Any], where: str = "") -> Iterator[str]:
    for key, value in table.items():
        if isinstance(value, dict) and where + key not in LEAVES:
            yield from names_in(value, f"{where}{key}.")
        else:
            yield where + key


NO_DEFAULT = {
    "assist.metrics",
    "clock.task_timeout_s",
    "dump.index",
    "transport.key_file",
    "transport.known_hosts",
    "transport.secret_file",
    "processes",
    "process_memory_mb",
    "limit",
    "depth",
    "proxy.file",
    "neo4j.password_file",
    "extend.keys_file",
    "pages.seed_file",
    "pages.limit",
    "pages.limit_per_host",
    "pages.seconds",
    "pages.password_file",
    "pages.headers_file",
    "pages.cookies",
    "layers.password_file",
}
"""Not set by default; TOML cannot write that, so the example shows some value or speaks of it."""


def test_the_example_changes_nothing_as_it_stands() -> None:
    assert load(EXAMPLE, {}) == Settings()


def test_the_example_shows_every_setting() -> None:
    text = EXAMPLE.read_text(encoding="utf-8")
    missing = set(settings_of(Settings)) - set(names_in(tomllib.loads(uncommented(text))))
    assert missing <= NO_DEFAULT
    for name in missing:
        assert re.search(rf"\b{name.rpartition('.')[2]}\b", text), f"{name} is not mentioned"


def test_the_example_uncommented_is_the_defaults() -> None:
    text = uncommented(EXAMPLE.read_text(encoding="utf-8"))
    for name in NO_DEFAULT:
        text = re.sub(rf"^{name.rpartition('.')[2]} *=.*$", "", text, flags=re.MULTILINE)
    assert loaded(text) == Settings()


# ---- how many at once from a file


@pytest.mark.parametrize(
    ("text", "flags", "workers"),
    [
        ("", {"source": "dump.csv"}, FILE_WORKERS),
        ("source = 'dump.csv'", {}, FILE_WORKERS),
        ("source = 'dump.csv'", {"source": "http://127.0.0.1:8084"}, 8),
        ("source = 'dump.csv'\nfetch_workers = 2", {}, 2),
        ("source = 'dump.csv'", {"fetch_workers": 2}, 2),
        ("source = 'dump.csv'\nfetch_workers = 8", {}, 8),
        ("fetch_workers = 500", {"source": "dump.csv"}, 500),
    ],
)
def test_a_file_is_read_by_many_unless_the_user_says_how_many(
    text: str, flags: dict[str, Any], workers: int
) -> None:
    settings = loaded(text, **flags)
    assert settings.fetch_workers == workers
    assert CONCEPTNET.stages(settings)[0].workers == workers


def test_the_example_says_how_many_read_a_file() -> None:
    assert f"{FILE_WORKERS} with a file" in EXAMPLE.read_text("utf-8")


@pytest.mark.parametrize(("processes", "workers"), [(1, 5), (2, 5), (4, 5), (64, 64)])
def test_a_process_may_have_what_decoding_in_all_its_workers_takes(
    processes: int, workers: int
) -> None:
    """However small the computer is: else good pictures would end it."""
    settings = Settings(processes=processes, extend_workers=workers)
    each = -(-workers // processes)
    assert settings.process_memory >= 15 * settings.extend.max_pixels * each + 100_000_000
