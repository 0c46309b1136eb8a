"""Settings: one file, flags on top, mistakes named, secrets never shown."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest

from tools.base.credentials import NEO4J_VARIABLE, NOTICES_VARIABLE, PROXIES_VARIABLE
from tools.bounds import MOST
from tools.conceptnet.rules import ALL_RELATIONS, RELATIONS
from tools.errors import UsageError
from tools.jobs.conceptnet_description import CONCEPTNET
from tools.settings import (
    DEFAULT_FILE,
    FILE_WORKERS,
    FilterSettings,
    HttpSettings,
    LogSettings,
    ProxySettings,
    Settings,
    load,
    narrowed,
)

EXAMPLE = Path(__file__).parents[2] / "sheaf.example.toml"
LISTED = "docs/dump.md lists them all"
PROXY = "socks5h://me:hunter2@10.0.0.1:1080"


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No settings but those of the test."""
    monkeypatch.chdir(tmp_path)
    for secret in (PROXIES_VARIABLE, NEO4J_VARIABLE, NOTICES_VARIABLE):
        monkeypatch.delenv(secret, raising=False)
    return tmp_path


def written(text: str) -> Path:
    file = Path("other.toml")
    file.write_text(text, encoding="utf-8")
    return file


def loaded(text: str, **flags: Any) -> Settings:
    return load(written(text), flags)


def refusal(text: str, **flags: Any) -> str:
    """What is said, but for the place in the file."""
    return re.sub(r" \(other\.toml, line \d+\)$", "", whole_refusal(text, **flags))


def whole_refusal(text: str, **flags: Any) -> str:
    with pytest.raises(UsageError) as caught:
        loaded(text, **flags)
    sentence = str(caught.value)
    assert sentence
    assert "\n" not in sentence
    return sentence


def secret_file(text: str, mode: int = 0o600, name: str = "proxies.txt") -> Path:
    file = Path(name)
    file.write_bytes(text.encode())
    file.chmod(mode)
    return file


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


def test_proxies_cannot_stand_in_the_settings_file() -> None:
    assert refusal(f'[proxy]\nurls = ["{PROXY}"]').startswith("unknown setting proxy.urls")


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
    ("name", "hint"),
    [("Isa", "did you mean IsA?"), ("UsedFr", "did you mean UsedFor?"), ("zzz", LISTED)],
)
def test_unknown_relations_are_refused(name: str, hint: str) -> None:
    sentence = refusal(f'[filter]\nrelations = ["IsA", "{name}"]')
    assert sentence == f"unknown relation {name}; {hint}"


def test_all_relations_are_listed_where_a_user_is_sent() -> None:
    listed = (EXAMPLE.parent / "docs" / "dump.md").read_text(encoding="utf-8")
    assert set(ALL_RELATIONS) <= set(re.findall(r"\w+", listed))


@pytest.mark.parametrize("given", ["isa", "ISA", "/r/IsA", "IsA"])
def test_a_flag_names_relations_in_any_case(given: str) -> None:
    assert narrowed(Settings(), relations=(given,)).filter.relations == ("IsA",)
    assert "relatedto" not in RELATIONS
    wider = narrowed(Settings(), plus=("relatedto",), minus=(given,)).filter.relations
    assert wider == (*RELATIONS[1:], "RelatedTo")


@pytest.mark.parametrize(
    ("given", "hint"), [("isaa", "did you mean IsA?"), ("used_for", "did you mean UsedFor?")]
)
def test_a_flag_that_names_no_relation_gets_the_nearest(given: str, hint: str) -> None:
    for flag in ("relations", "plus", "minus"):
        with pytest.raises(UsageError, match=re.escape(f"unknown relation {given}; {hint}")):
            narrowed(Settings(), **{flag: (given,)})  # type: ignore[arg-type]


def test_a_flag_that_names_nothing_is_refused() -> None:
    with pytest.raises(UsageError, match="relations must name at least one relation"):
        narrowed(Settings(), relations=())
    with pytest.raises(UsageError, match="languages must name at least one language"):
        narrowed(Settings(), languages=())


def test_languages_may_be_typed_in_capitals() -> None:
    assert narrowed(Settings(), languages=("EN", "De")).filter.languages == ("en", "de")


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
    assert numbers - UNBOUNDED == MOST.keys()


UNBOUNDED = {
    *("limit", "depth", "filter.min_weight", "dump.max_malformed", "extend.enough"),
    *("extend.min_side", "extend.min_seconds", "extend.max_seconds", "extend.max_pixels"),
    *("extend.max_frames", "extend.max_frame_pixels", "transport.every_hours"),
}
"""Counted with only, or bounded otherwise."""


@pytest.mark.parametrize("weight", [math.nan, math.inf, -math.inf])
def test_a_weight_given_as_a_flag_is_a_number(weight: float) -> None:
    with pytest.raises(UsageError, match=r"^filter.min_weight must be a number, not "):
        narrowed(loaded(""), min_weight=weight)


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


# ---- secrets


def test_addresses_for_notices_come_from_the_file_and_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An address may hold a comma, so each has a line of its own."""
    monkeypatch.setenv(NOTICES_VARIABLE, "mailto://a:pass-word@b?to=c,d\n")
    secret_file("# mine\n\ntgram://to-ken/chat\n", name="notices.txt")
    settings = loaded("[notices]\nfile = 'notices.txt'")
    assert settings.notices.urls == ("mailto://a:pass-word@b?to=c,d", "tgram://to-ken/chat")
    assert "pass-word" not in repr(settings) and "to-ken" not in repr(settings)


def test_a_file_for_notices_that_others_can_read_is_refused() -> None:
    secret_file("tgram://to-ken/chat\n", 0o644, "notices.txt")
    with pytest.raises(UsageError, match="chmod 600") as caught:
        loaded("[notices]\nfile = 'notices.txt'")
    assert "to-ken" not in str(caught.value)


def test_proxies_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PROXIES_VARIABLE, f" http://10.0.0.2:80 ,{PROXY}\n\n")
    assert load(None, {}).proxy.urls == ("http://10.0.0.2:80", PROXY)


def test_proxies_come_from_a_file_only_its_owner_can_read() -> None:
    file = secret_file(f"{PROXY}\n\nhttp://10.0.0.2:80\n")
    assert load(None, {"proxy": {"file": file}}).proxy.urls == (PROXY, "http://10.0.0.2:80")


def test_both_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PROXIES_VARIABLE, "http://10.0.0.2:80")
    file = secret_file(PROXY)
    assert loaded(f'[proxy]\nfile = "{file}"').proxy.urls == ("http://10.0.0.2:80", PROXY)


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o660, 0o610])
def test_a_file_of_secrets_that_others_can_touch_is_refused(mode: int) -> None:
    file = secret_file(PROXY, mode)
    sentence = refusal(f'[proxy]\nfile = "{file}"')
    assert sentence == "proxies.txt holds secrets but others can read it: chmod 600 proxies.txt"


def test_a_file_of_secrets_that_is_missing_is_named() -> None:
    assert refusal('[proxy]\nfile = "gone"') == "cannot read gone: No such file or directory"


def test_a_file_of_secrets_that_is_no_text_is_named() -> None:
    file = secret_file("")
    file.write_bytes(b"http://me:\xff@10.0.0.1:80")
    assert refusal(f'[proxy]\nfile = "{file}"').startswith("cannot read proxies.txt: ")


@pytest.mark.parametrize(
    "proxy",
    [
        "10.0.0.1:1080",
        "ftp://me:hunter2@10.0.0.1",
        "http://",
        "http://me:hunter2@",
        "http://me:hunt#er2@10.0.0.1:80",
        "http://me:hunt/er2@10.0.0.1:80",
        "http://me:hunt?er2@10.0.0.1:80",
        "http://me:hunt[er2@10.0.0.1:80",
        "http://me:hunter2@10.0.0.1:port",
        "http://me:hunter2@10.0.0.1:99999",
    ],
)
def test_what_is_no_proxy_is_refused_without_showing_it(
    monkeypatch: pytest.MonkeyPatch, proxy: str
) -> None:
    monkeypatch.setenv(PROXIES_VARIABLE, f"http://10.0.0.2:80,{proxy}")
    sentence = refusal("")
    assert sentence.startswith("proxy number 2 must ")
    assert "hunt" not in sentence


def test_no_printed_setting_shows_a_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PROXIES_VARIABLE, PROXY)
    settings = load(None, {})
    assert settings.proxy.urls == (PROXY,)
    assert "hunter2" not in f"{settings!r} {settings} {settings.proxy!r} {settings.proxy}"


def password_from(file: Path) -> str:
    return loaded(f'[neo4j]\npassword_file = "{file}"').neo4j.password


def test_without_a_secret_there_is_no_password() -> None:
    assert load(None, {}).neo4j.password == ""


def test_the_password_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(NEO4J_VARIABLE, "hunter2 ")
    assert load(None, {}).neo4j.password == "hunter2 "


@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_the_password_comes_from_a_file_and_the_end_of_the_line_is_no_part_of_it(end: str) -> None:
    file = secret_file(f" hünter, 2{end}", name="password")
    assert password_from(file) == " hünter, 2"


def test_the_environment_goes_before_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    file = secret_file("from the file", name="password")
    monkeypatch.setenv(NEO4J_VARIABLE, "from the environment")
    assert password_from(file) == "from the environment"
    monkeypatch.setenv(NEO4J_VARIABLE, "")
    assert password_from(file) == "from the file"


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o660, 0o610])
def test_a_password_that_others_can_read_is_refused(mode: int) -> None:
    secret_file("hunter2", mode, "password")
    sentence = refusal('[neo4j]\npassword_file = "password"')
    assert sentence == "password holds secrets but others can read it: chmod 600 password"


def test_a_password_file_that_is_missing_is_named() -> None:
    sentence = refusal('[neo4j]\npassword_file = "gone"')
    assert sentence == "cannot read gone: No such file or directory"


def test_a_password_cannot_stand_in_the_settings_file() -> None:
    sentence = refusal('[neo4j]\npassword = "hunter2"')
    assert sentence.startswith("unknown setting neo4j.password; ")
    assert "hunter2" not in sentence


def test_no_printed_setting_shows_the_password_of_neo4j(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(NEO4J_VARIABLE, "hunter2")
    settings = load(None, {})
    assert settings.neo4j.password == "hunter2"
    assert "hunter2" not in f"{settings!r} {settings} {settings.neo4j!r} {settings.neo4j}"


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


def names_in(table: dict[str, Any], where: str = "") -> Iterator[str]:
    for key, value in table.items():
        if isinstance(value, dict) and where + key not in ("http.limits", "extend.servers"):
            yield from names_in(value, f"{where}{key}.")
        else:
            yield where + key


NO_DEFAULT = {
    "dump.index",
    "transport.key_file",
    "transport.known_hosts",
    "transport.secret_file",
    "limit",
    "depth",
    "proxy.file",
    "neo4j.password_file",
    "extend.keys_file",
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


# ---- media


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("ground = 'everything'", "extend.ground must be one of concepts, relations, both"),
        ("images = -1", "extend.images must be 0 or more"),
        ("max_pixels = 0", "extend.max_pixels must be more than 0"),
        ("providers = ['comons']", "unknown provider comons; did you mean commons?"),
        ("licences = ['by-as']", "unknown licence by-as; did you mean by-sa?"),
        ("servers = {commons = 'commons.org'}", "extend.servers.commons must be like http://host"),
        ("servers = {wiki = 'http://a'}", "unknown provider wiki; known: commons"),
        ("servers = ['http://a']", "extend.servers must be a table of texts"),
        (
            "keys = {giphy = 'hunter2'}",
            "unknown setting extend.keys; did you mean extend.keys_file",
        ),
    ],
)
def test_mistakes_about_media_are_named(text: str, sentence: str) -> None:
    with pytest.raises(UsageError) as caught:
        load(written(f"[extend]\n{text}"), {})
    assert str(caught.value).startswith(sentence)


def test_keys_come_from_the_environment_and_from_a_file_for_their_owner_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = tmp_path / "keys.toml"
    keys.write_text('freesound = "hunter2"\nflickr = "from the file"\n')
    keys.chmod(0o600)
    monkeypatch.setenv("SHEAF_FLICKR_KEY", " from the environment ")
    settings = load(written("[extend]\nkeys_file = 'keys.toml'"), {})
    assert settings.extend.keys == {"freesound": "hunter2", "flickr": "from the environment"}
    assert "hunter2" not in repr(settings)
    keys.chmod(0o640)
    with pytest.raises(UsageError, match="others can read it: chmod 600"):
        load(written("[extend]\nkeys_file = 'keys.toml'"), {})


@pytest.mark.parametrize("text", ["hunter2", "commons = 'hunter2'", "giphy = 2", "giphy = ['a']"])
def test_a_file_of_keys_that_cannot_be_read_is_not_shown(tmp_path: Path, text: str) -> None:
    (tmp_path / "keys.toml").write_text(text)
    (tmp_path / "keys.toml").chmod(0o600)
    with pytest.raises(UsageError, match="must have lines like freesound") as caught:
        load(written("[extend]\nkeys_file = 'keys.toml'"), {})
    assert "hunter2" not in str(caught.value)


# ---- transport


NODE = """[transport]
host = "node.example.org"
user = "sheaf-node"
key_file = "key"
known_hosts = "known_hosts"
folder = "/srv"
"""


def test_without_a_host_media_stay_here() -> None:
    assert loaded("").transport.host == ""
    assert refusal("[transport]\nuser = 'me'") == (
        "transport.host is missing: without it media stay here"
    )


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("port = 0", "transport.port must be more than 0"),
        ("volume_mb = 0", "transport.volume_mb must be more than 0"),
        ("every_hours = 25", "transport.every_hours must be from 1 to 24"),
        ("every_hours = 0", "transport.every_hours must be from 1 to 24"),
        ("connections = 0", "transport.connections must be more than 0"),
        ("receipt_s = -1", "transport.receipt_s must be 0 or more"),
        ("proxy = 'ftp://a:1'", "transport.proxy must be like"),
        ("proxy = 'https://a:1'", "transport.proxy must be like"),
        ("proxy = 'http://u:hunter2@a:1'", "a password stands in SHEAF_TRANSPORT_PROXY"),
        ("jump = 'host.example.org'", "transport.jump must be like user@host:port"),
        ("jump = 'me@host:port'", "transport.jump must be like user@host:port"),
        ("secret = 'hunter2'", "unknown setting transport.secret; did you mean"),
        ("passphrase = 'hunter2'", "unknown setting transport.passphrase"),
    ],
)
def test_a_wrong_transport_is_refused(line: str, sentence: str) -> None:
    said = refusal(NODE + line)
    assert sentence in said and "hunter2" not in said


@pytest.mark.parametrize("name", ["user", "key_file", "known_hosts", "folder"])
def test_a_transport_that_lacks_something_is_refused(name: str) -> None:
    text = re.sub(rf"^{name} = .*$", "", NODE, flags=re.MULTILINE)
    assert refusal(text).startswith(f"transport.{name} is missing")


def test_a_transport_may_use_an_agent_instead_of_a_key() -> None:
    text = re.sub(r"^key_file = .*$", "agent = true", NODE, flags=re.MULTILINE)
    assert loaded(text).transport.agent


def test_secrets_of_the_transport_are_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHEAF_TRANSPORT_PASSPHRASE", "hunter1")
    monkeypatch.setenv("SHEAF_TRANSPORT_PROXY", "socks5h://me:hunter2@a:1080")
    monkeypatch.setenv("SHEAF_TRANSPORT_SECRET", "hunter3")
    transport = loaded(NODE).transport
    assert (transport.passphrase, transport.secret) == ("hunter1", "hunter3")
    assert transport.proxy_url == "socks5h://me:hunter2@a:1080"
    assert "hunter" not in repr(transport)


def test_a_secret_of_the_transport_from_a_file() -> None:
    secret_file("hunter3\n", name="transport-secret")
    assert loaded(NODE + "secret_file = 'transport-secret'").transport.secret == "hunter3"


@pytest.mark.parametrize(("hours", "times"), [(3, "0 */3 * * *"), (24, "0 0 * * *")])
def test_shipping_is_on_the_hour(hours: int, times: str) -> None:
    assert loaded(NODE + f"every_hours = {hours}").transport.times == times


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
