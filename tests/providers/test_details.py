"""What is special about each provider, and how values from outside are read."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.support.provider_world import (
    CASES,
    KEY,
    LICENCES,
    REMOVED,
    SPOILED,
    Canned,
    archive_file,
    archive_item,
    commons_found,
    commons_gif,
    commons_original,
    commons_page,
    commons_sound,
    observation,
    openverse_found,
    openverse_item,
    places,
    spoiled,
)
from tools.errors import BadStatus, GiveUp, ServerTrouble, Unavailable
from tools.media.offer import Candidate, Provider
from tools.network.client import Answer
from tools.providers import parse as answer
from tools.providers import query
from tools.providers.archive import MOST_ITEMS, InternetArchive
from tools.providers.commons import Commons
from tools.providers.flickr import Flickr
from tools.providers.freesound import Freesound
from tools.providers.giphy import Giphy
from tools.providers.inaturalist import INaturalist
from tools.providers.openverse import Openverse
from tools.providers.pexels import Pexels

BY = {str(case): case for case in CASES}
EVERY_LICENCE = (*LICENCES, "by-nc", "by-nd", "by-nc-sa", "by-nc-nd")


def provider(make: Any, answers: Any, licences: Any = LICENCES) -> Provider:
    made: Provider = make(Canned(answers), licences, "http://provider.example", KEY)
    return made


@given(st.text(max_size=400))
def test_words_hold_nothing_a_search_engine_obeys(text: str) -> None:
    words = query.words(text)
    assert len(words) <= query.LONGEST
    assert not set(words) & set('":!~*?()[]{}<>|&+^/\\=;#\n\t')
    for word in words.split(" "):
        assert not word.startswith(("-", ".", "'")) and word not in query.ORDERS


@pytest.mark.parametrize("text", ["cão de guarda", "กระดาษ", "गाइड कुत्ता", "犬", "o'clock", "x-ray"])
def test_words_of_every_script_stay(text: str) -> None:
    assert query.words(text) == text


# ---- values from outside

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)


@given(json_values)
def test_any_value_is_read_or_none(value: Any) -> None:
    for read in (answer.text, answer.text_of_html, answer.web_address, answer.mime_type):
        found = read(value)
        assert found is None or (isinstance(found, str) and found)
    assert answer.whole_number(value) is None or answer.whole_number(value) == float(value)
    assert answer.checksum(value, 40) is None
    assert answer.inner(value, "a", "b") is None or isinstance(value, dict)


@example("<<>>")
@given(st.text(alphabet="<>a/&;! script='\"style", max_size=60))
def test_no_tag_survives(html: str) -> None:
    found = answer.text_of_html(html.replace("&", ""))
    assert found is None or not answer.TAG.search(found)


@pytest.mark.parametrize(
    "address",
    [
        "ftp://example.org/x",
        "https://",
        "https://user:word@example.org/",
        "https://example.org:0/",
        "https://example.org:99999/",
        "https://exa\u0301mple.org/",
        "https://example.org/\n",
        "https://example.org/" + "x" * 2000,
        "file:///etc/passwd",
    ],
)
def test_what_is_no_web_address_is_none(address: str) -> None:
    assert answer.web_address(address) is None


# ---- Commons


def commons(*pages: dict[str, Any]) -> Provider:
    return provider(Commons, {"/w/api.php": {"query": {"pages": list(pages)}}})


def test_a_small_picture_of_commons_is_taken_as_it_is() -> None:
    found = commons(commons_page(1, width=960)).search("dog", "image")
    assert found == [commons_original(1, bytes=5_000_000)]


def test_a_large_webp_of_commons_is_taken_as_it_is() -> None:
    found = commons(commons_page(1, mime="image/webp")).search("dog", "image")
    assert found == [commons_original(1, bytes=5_000_000, mime="image/webp")]


def test_a_large_picture_without_preview_is_taken_as_it_is() -> None:
    found = commons(commons_page(1, thumburl=None)).search("dog", "image")
    assert found == [commons_original(1, bytes=5_000_000)]


@pytest.mark.parametrize("mime", ["image/tiff", "image/gif", "application/pdf", "image/svg+xml"])
def test_what_is_no_common_picture_is_left_out(mime: str) -> None:
    assert commons(commons_page(1, mime=mime)).search("dog", "image") == []


@pytest.mark.parametrize("duration", [0, 0.0])
def test_a_gif_that_stands_still_is_left_out(duration: float) -> None:
    still = commons_gif(1)
    still["imageinfo"][0]["duration"] = duration
    assert commons(still, commons_gif(2)).search("dog", "visual") == [
        commons_original(2, bytes=90_000, mime="image/gif", duration=2.5)
    ]


def test_a_gif_whose_duration_nobody_says_is_kept() -> None:
    gif = commons_gif(1)
    del gif["imageinfo"][0]["duration"]
    assert len(commons(gif).search("dog", "visual")) == 1


def test_words_read_aloud_are_left_out() -> None:
    by_title, by_category, video = commons_sound(1), commons_sound(2), commons_sound(3)
    by_title["title"] = "File:LL-Q1860 (eng)-Someone-dog.wav"
    about = by_category["imageinfo"][0]["extmetadata"]
    about["Categories"]["value"] = "Dogs|English Pronunciation"
    video["imageinfo"][0]["mediatype"] = "VIDEO"
    found = commons(by_title, by_category, video, commons_sound(4)).search("dog", "audio")
    assert [each.title for each in found] == ["Dog 4"]


@pytest.mark.parametrize(
    ("told", "code", "address"),
    [
        ({"License": "pd-old"}, "pd", None),
        ({"LicenseShortName": "Public domain"}, "pd", None),
        ({"License": "cc0"}, "cc0-1.0", "https://creativecommons.org/publicdomain/zero/1.0/"),
        ({"LicenseUrl": "https://creativecommons.org/licenses/by/3.0/"}, "cc-by-3.0", "same"),
        ({"License": "gfdl", "LicenseUrl": "https://www.gnu.org/fdl.html"}, None, None),
        ({"License": "cc-by-nc-4.0"}, None, None),
        ({}, None, None),
    ],
)
def test_a_licence_of_commons_is_read_wherever_it_stands(
    told: dict[str, str], code: str | None, address: str | None
) -> None:
    page = commons_page(1)
    about = page["imageinfo"][0]["extmetadata"]
    for name in ("License", "LicenseUrl", "LicenseShortName"):
        del about[name]
    about |= {name: {"value": value} for name, value in told.items()}
    shown = told.get("LicenseUrl") if address == "same" else address
    expected = [commons_found(1, license=code, license_url=shown)] if code else []
    assert commons(page).search("dog", "image") == expected


@pytest.mark.parametrize("code", ["maxlag", "ratelimited"])
def test_a_lagging_commons_is_left_alone(code: str) -> None:
    busy = {"error": {"code": code, "info": "Waiting for a server: 6 seconds lagged", "lag": 6}}
    with pytest.raises(Unavailable, match=rf"asks for a pause \({code}\)") as caught:
        provider(Commons, {"/w/api.php": busy}).search("dog", "image")
    assert caught.value.delay == 60.0


@pytest.mark.parametrize("error", [{"code": "internal_api_error", "info": "x"}, [], None, {}])
def test_any_other_error_of_commons_is_trouble(error: Any) -> None:
    found = {"batchcomplete": True, "error": error}
    with pytest.raises(ServerTrouble, match="reports an error"):
        provider(Commons, {"/w/api.php": found}).search("dog", "image")


@pytest.mark.parametrize("pages", [None, {}, "x", {"1": {"title": "an older format"}}])
def test_pages_of_another_shape_are_trouble(pages: Any) -> None:
    with pytest.raises(ServerTrouble, match="without pages"):
        provider(Commons, {"/w/api.php": {"query": {"pages": pages}}}).search("dog", "image")


# ---- Openverse


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"license_version": None}, "cc-by-2.0"),
        ({"license_version": None, "license_url": None}, "cc-by"),
        ({"license_url": None}, "cc-by-2.0"),
        ({"license": "cc0", "license_version": "1.0", "license_url": None}, "cc0-1.0"),
        ({"license": "pdm", "license_version": "1.0", "license_url": None}, "pdm-1.0"),
        ({"license": "by-nc", "license_version": "2.0", "license_url": None}, None),
        ({"license_url": "https://creativecommons.org/licenses/by-nc/2.0/"}, None),
        ({"license": "sampling+", "license_version": "1.0", "license_url": None}, None),
        ({"creator": None}, None),
        ({"mature": True}, None),
    ],
)
def test_openverse_says_its_licences_in_parts(changes: dict[str, Any], code: str | None) -> None:
    answers = {"/v1/images/": {"results": [openverse_item(1, **changes), openverse_item(2)]}}
    *first, second = provider(Openverse, answers).search("dog", "image")
    assert second == openverse_found(2)
    assert [each.license for each in first] == ([code] if code else [])


def test_openverse_is_not_asked_when_no_licence_of_its_is_wanted() -> None:
    assert provider(Openverse, {}, ("pexels", "pd")).search("dog", "image") == []
    assert provider(INaturalist, {}, ("pexels", "pd")).search("dog", "image") == []
    assert provider(Freesound, {}, ("by-sa",)).search("dog", "audio") == []
    assert provider(Flickr, {}, ("pexels",)).search("dog", "image") == []
    assert provider(Pexels, {}, ("by",)).search("dog", "image") == []


# ---- iNaturalist


class Counting(Canned):
    def __init__(self, answers: Any) -> None:
        super().__init__(answers)
        self.asked: list[str] = []

    def get(self, url: str, accept: str, **options: Any) -> Answer:
        self.asked.append(url.partition("?")[0].rpartition("/")[2])
        return super().get(url, accept, **options)


def test_the_taxon_of_a_text_is_asked_for_once() -> None:
    client = Counting(BY["inaturalist-image"].answers)
    naturalist: Provider = INaturalist(client, LICENCES)  # type: ignore[arg-type]
    for kind in ("image", "audio", "image"):
        assert len(naturalist.search("Guide dog", kind)) == 2
    assert client.asked == ["autocomplete", *["observations"] * 3]


def test_a_text_that_names_no_living_thing_is_asked_for_once_and_finds_nothing() -> None:
    client = Counting(BY["inaturalist-image"].answers)
    naturalist: Provider = INaturalist(client, LICENCES)  # type: ignore[arg-type]
    assert [naturalist.search("dog", kind) for kind in ("image", "audio")] == [[], []]
    assert client.asked == ["autocomplete"]


@pytest.mark.parametrize("text", ["doggius", "DOGS", "Canis familiaris", "domestic dog"])
def test_every_name_of_a_taxon_is_a_name(text: str) -> None:
    answers = BY["inaturalist-image"].answers
    assert len(provider(INaturalist, answers).search(text, "image")) == 2


def test_a_bad_value_costs_at_most_its_taxon() -> None:
    case = BY["inaturalist-image"]
    path = "/v1/taxa/autocomplete"
    taxa = case.answers[path]
    for place, value in itertools.product(places(taxa, ("results", 1)), (*SPOILED, REMOVED)):
        answers = case.with_answer(path, spoiled(taxa, place, value))
        found = provider(INaturalist, answers).search(case.text, "image")
        assert found in ([], list(case.found)), (place, value)
        assert len(provider(INaturalist, answers).search("dogs", "image")) == 2


@pytest.mark.parametrize(
    ("user", "author"),
    [
        ({"login": "di", "name": ""}, "di"),
        ({"login": "", "name": None}, "(c) Di, some rights reserved (CC BY)"),
        (None, "(c) Di, some rights reserved (CC BY)"),
    ],
)
def test_an_observer_without_a_name_has_another(user: Any, author: str) -> None:
    seen = observation(5) | {"user": user}
    case = BY["inaturalist-image"]
    answers = case.with_answer("/v1/observations", {"results": [seen]})
    [found] = provider(INaturalist, answers).search(case.text, "image")
    assert found.author == author


# ---- Freesound, Flickr, GIPHY


def first_item(name: str, **changes: Any) -> tuple[str, Any]:
    """The answer of a case whose first item is changed."""
    (path, place), *_ = BY[name].spoilable
    found = BY[name].answers[path]
    for key, value in changes.items():
        found = spoiled(found, (*place, key), value)
    return path, found


def test_a_preview_as_ogg_will_do_too() -> None:
    previews = {"preview-hq-ogg": "https://cdn.freesound.org/previews/1-hq.ogg"}
    path, found = first_item("freesound-audio", previews=previews, gen_ai_preference=None)
    first = provider(Freesound, {path: found}).search("dog", "audio")[0]
    assert (first.url[-3:], first.mime, first.remark) == ("ogg", "audio/ogg", None)


def test_explicit_sounds_are_left_out() -> None:
    path, found = first_item("freesound-audio", is_explicit=True)
    assert len(provider(Freesound, {path: found}).search("dog", "audio")) == 1


@pytest.mark.parametrize("number", ["0", "7", "8", "11", "99", ""])
def test_licences_of_flickr_that_we_do_not_know_are_not_open(number: str) -> None:
    path, found = first_item("flickr-image", license=number)
    assert len(provider(Flickr, {path: found}, EVERY_LICENCE).search("dog", "image")) == 1


def test_the_page_of_a_photo_cannot_be_led_elsewhere() -> None:
    path, found = first_item("flickr-image", owner="../..//evil.example", id="?x=1#")
    first = provider(Flickr, {path: found}).search("dog", "image")[0]
    assert first.page == "https://www.flickr.com/photos/..%2F..%2F%2Fevil.example/%3Fx%3D1%23"


def test_a_key_that_flickr_refuses_is_a_refusal() -> None:
    told = {"stat": "fail", "code": 100, "message": f"Invalid API Key: {KEY}"}
    with pytest.raises(BadStatus, match=r"does not accept the key$") as caught:
        provider(Flickr, {"/services/rest/": told}).search("dog", "image")
    assert caught.value.status == 401


def test_a_photo_without_a_large_size_is_taken_as_it_is() -> None:
    path, found = first_item("flickr-image", url_l=REMOVED)
    assert provider(Flickr, {path: found}).search("dog", "image")[0].url.endswith("_o.jpg")


def test_a_search_of_giphy_is_short() -> None:
    class Asked(Canned):
        def get(self, url: str, accept: str, **options: Any) -> Answer:
            assert "&q=" + "+".join(["dog"] * 12) + "&" in url
            return super().get(url, accept, **options)

    gifs: Provider = Giphy(Asked(BY["giphy-visual"].answers), (), key=KEY)  # type: ignore[arg-type]
    assert len(gifs.search("dog " * 30, "visual")) == 2


# ---- the Internet Archive


def archive(item: Any, kind: str = "audio") -> list[Candidate]:
    case = BY[f"archive-{kind}"]
    answers = case.with_answer("/metadata/one", item)
    found = provider(InternetArchive, answers).search("dog", kind)
    return [each for each in found if "/one/" in each.url]


def test_of_one_recording_in_several_formats_one_is_taken() -> None:
    names = ("bark.wav", "bark.mp3", "bark.ogg", "howl.flac", "bark.png")
    item = archive_item("one", *map(archive_file, names))
    found = [each.url.rpartition("/")[2] for each in archive(item)]
    assert found == ["bark.mp3", "howl.flac"]


@pytest.mark.parametrize(
    "changes",
    [
        {"name": "../../bark.mp3"},
        {"name": "/bark.mp3"},
        {"name": "bark\n.mp3"},
        {"source": "metadata"},
        {"private": "true"},
        {"size": "3145729"},
        {"format": "Spectrogram"},
    ],
)
def test_files_that_are_no_content_are_left_out(changes: dict[str, str]) -> None:
    assert archive(archive_item("one", archive_file("bark.mp3") | changes)) == []


def test_an_item_that_was_taken_away_costs_itself_alone() -> None:
    class Gone(Canned):
        def get(self, url: str, accept: str, **options: Any) -> Answer:
            if url.endswith("/metadata/one"):
                raise self.error
            return super().get(url, accept, **options)

        error: GiveUp = BadStatus("HTTP 404", 404)

    client = Gone(BY["archive-audio"].answers)
    items: Provider = InternetArchive(client, LICENCES)  # type: ignore[arg-type]
    assert len(items.search("dog", "audio")) == 1
    client.error = BadStatus("HTTP 403", 403)
    with pytest.raises(BadStatus):
        items.search("dog", "audio")
    assert len(archive({})) == 0


def test_only_the_first_open_items_are_looked_into() -> None:
    open_item = {"licenseurl": "http://creativecommons.org/publicdomain/zero/1.0/"}
    docs: list[Any] = [{"identifier": f"i{number}", **open_item} for number in range(20)]
    docs += [{"identifier": "../../evil", **open_item}, {"identifier": 7, **open_item}]
    items = {f"/metadata/i{n}": archive_item(f"i{n}", archive_file("a.mp3")) for n in range(20)}
    client = Counting({"/advancedsearch.php": {"response": {"docs": docs[::-1]}}, **items})
    searched: Provider = InternetArchive(client, LICENCES)  # type: ignore[arg-type]
    assert len(searched.search("dog", "audio")) == MOST_ITEMS
    assert client.asked == ["advancedsearch.php", "i19", "i18", "i17", "i16"]
