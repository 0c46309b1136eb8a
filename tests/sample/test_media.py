"""The media servers of the sample: what they say, what they draw, and what is bad on purpose."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from hashlib import sha1, sha256
from http.client import HTTPConnection
from itertools import combinations
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import numpy as np
import pytest
import soundfile
from PIL import Image

from tests.support.contrast import contrast
from tools.conceptnet.rules import CONNECTIVES
from tools.errors import Unreachable
from tools.sample import drawing, voice, world
from tools.sample.animation import FRAMES, animation
from tools.sample.chance import style
from tools.sample.files import FORBIDDEN_PLACE, MIMES, content, is_wide, sent
from tools.sample.media import MediaServers
from tools.sample.motif import motifs, sprite, tones
from tools.sample.motion import RELATIONS
from tools.sample.offers import FLAWS, PROVIDERS, WANTED, File, Offers, flaw_of
from tools.sample.palette import Colour, day, night, palette
from tools.sample.subject import SAID, ends_of, motif_of, subject
from tools.sample.texts import Texts

TEXTS = Texts.of(world.lines())
ALL = TEXTS.all()
OFFERS = Offers(ALL, TEXTS.taxa)
LOUD = 0.02  # of a note that was struck
COMMONS = {
    "action": "query",
    "format": "json",
    "formatversion": "2",
    "generator": "search",
    "gsrnamespace": "6",
    "gsrlimit": "50",
    "prop": "imageinfo",
    "iiprop": "url|size|mime|mediatype|sha1|user|extmetadata",
    "iiurlwidth": "960",
}
FILTERS = {
    "image": "filetype:bitmap -filemime:image/gif",
    "audio": "filetype:audio",
    "visual": "filemime:image/gif",
}


@dataclass
class Reply:
    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


def get(url: str, **query: str) -> Reply:
    address = urlsplit(url)
    connection = HTTPConnection(address.netloc, timeout=30)
    try:
        asked = f"?{urlencode(query)}" if query else f"?{address.query}" if address.query else ""
        connection.request("GET", address.path + asked)
        response = connection.getresponse()
        return Reply(response.status, dict(response.headers), response.read())
    finally:
        connection.close()


@pytest.fixture(scope="module")
def servers() -> Iterator[dict[str, str]]:
    with MediaServers() as running:
        yield running.servers


def found_at_commons(base: str, text: str, kind: str, **changes: str) -> list[dict[str, Any]]:
    """The pages of a search, by their rank."""
    search = f"{text} {FILTERS[kind]}"
    reply = get(f"{base}/w/api.php", **(COMMONS | {"gsrsearch": search} | changes)).json()
    pages: list[dict[str, Any]] = reply.get("query", {}).get("pages", [])
    return sorted(pages, key=lambda page: int(page["index"]))


def found_at_openverse(base: str, text: str, kind: str, **changes: str) -> list[dict[str, Any]]:
    path = "audio" if kind == "audio" else "images"
    extension = {"image": "jpg,png,webp", "audio": "mp3,ogg,wav,flac", "visual": "gif"}[kind]
    asked = {"q": text, "page_size": "20", "extension": extension} | changes
    results: list[dict[str, Any]] = get(f"{base}/v1/{path}/", **asked).json()["results"]
    return results


def found_at_inaturalist(base: str, text: str, kind: str, **changes: str) -> list[dict[str, Any]]:
    taxa = get(f"{base}/v1/taxa/autocomplete", q=text).json()["results"]
    if not taxa or taxa[0]["preferred_common_name"].lower() != text:
        return []
    has = {"image": "photos", "audio": "sounds", "visual": "gifs"}[kind]
    asked = {"taxon_id": str(taxa[0]["id"]), has: "true"} | changes
    observations = get(f"{base}/v1/observations", **asked).json()["results"]
    return [file for each in observations for file in each[has]]


def urls(servers: Mapping[str, str], provider: str, text: str, kind: str) -> list[str]:
    """The addresses of the files, as a client finds them."""
    base = servers[provider]
    if provider == "commons":
        pages = found_at_commons(base, text, kind)
        return [page["imageinfo"][0]["url"] for page in pages]
    if provider == "openverse":
        return [result["url"] for result in found_at_openverse(base, text, kind)]
    files = found_at_inaturalist(base, text, kind)
    return [str(file.get("file_url", file.get("url"))).replace("square", "large") for file in files]


def text_with(provider: str, kind: str, enough: int = 1) -> str:
    """A text with so many files there, and nothing bad."""
    return next(
        text
        for text in ALL
        if OFFERS.good(kind, text).get(provider, 0) >= enough and not flaw_of(text, kind)
    )


@cache
def bad_files(flaw: str, kind: str) -> list[File]:
    return [
        file
        for text in ALL
        if flaw_of(text, kind) == flaw
        for provider in PROVIDERS
        for file in OFFERS.files(provider, kind, text)
        if file.flaw == flaw
    ]


def good_files(kind: str, count: int) -> list[File]:
    """Some from all over the sample, of every provider."""
    every = [
        file
        for text in ALL[::3]
        for provider in PROVIDERS
        for file in OFFERS.files(provider, kind, text)
        if not file.flaw
    ]
    return every[:: len(every) // count][:count]


def difference_hash(body: bytes) -> int:
    small = Image.open(io.BytesIO(body)).convert("L").resize((9, 8), Image.Resampling.LANCZOS)
    bright = small.tobytes()
    steps = [bright[place] < bright[place + 1] for place in range(71) if place % 9 != 8]
    return sum(step << place for place, step in enumerate(steps))


def distance(one: bytes, other: bytes) -> int:
    return (difference_hash(one) ^ difference_hash(other)).bit_count()


def heard(body: bytes, look: str) -> list[int]:
    """The notes that somebody writes down: what is louder in a step than it still was before."""
    samples, rate = soundfile.read(io.BytesIO(body))
    step = round(rate * voice.STEP_S)
    times = np.arange(step) / rate
    tones = [voice.hertz(note, voice.key_of(look)) for note in range(len(voice.SCALE))]
    waves = np.exp(-2j * np.pi * np.outer(tones, times)) * np.hanning(step)
    found, before = [], np.zeros(len(tones))
    for start in range(0, len(samples) - round(rate * voice.LONGEST_S), step):
        loudness = np.abs(waves @ samples[start : start + step])
        new = loudness - 0.5 * before  # a note rings on
        found.append(int(new.argmax()) if new.max() > LOUD * step else voice.PAUSE)
        before = loudness
    return found


def written_down(text: str) -> list[int]:
    return [note for note, _ in voice.score(text)]


def test_every_concept_and_showable_relation_is_known() -> None:
    for text in ("dog", "guide dog", "dog can bark", "bed bedroom", "washington, d.c", "number"):
        assert TEXTS.find(text) == text
    assert len(ALL) > 3_600


@pytest.mark.parametrize("asked", ["cat's cradle", "cats cradle", "cat s cradle", "Cat's  CRADLE"])
def test_punctuation_and_case_do_not_matter(asked: str) -> None:
    assert TEXTS.find(asked) == "cat's cradle"


@pytest.mark.parametrize("asked", ["", "dogs", "bark dog can", "hund", "can"])
def test_what_is_not_in_the_sample_is_not_known(asked: str) -> None:
    assert TEXTS.find(asked) is None
    assert not any(OFFERS.files("commons", kind, asked) for kind in WANTED)


def test_taxa_are_the_animals_and_plants() -> None:
    assert {"dog", "guide dog", "oak", "bat", "crane", "trout", "rose", "ant"} <= set(TEXTS.taxa)
    assert not {"baseball bat", "vet", "computer mouse", "pet food", "pluto", "bed"} & set(
        TEXTS.taxa
    )
    assert 150 < len(TEXTS.taxa) < 250
    assert set(TEXTS.taxa) <= set(ALL)


# What is offered


def share(counted: int) -> float:
    return counted / len(ALL)


def enough_from(kind: str, text: str) -> str:
    """The last provider somebody must ask who wants enough, `nobody` if it never is."""
    still_wanted = WANTED[kind]
    for provider in PROVIDERS:
        still_wanted -= OFFERS.good(kind, text).get(provider, 0)
        if still_wanted <= 0:
            return provider
    return "nobody"


@pytest.mark.parametrize("kind", WANTED)
def test_commons_is_mostly_enough_and_some_texts_have_nothing(kind: str) -> None:
    counts = Counter(enough_from(kind, text) for text in ALL)
    assert 0.72 < share(counts["commons"]) < 0.85
    assert 0.12 < share(counts["openverse"]) < 0.20
    assert 0.03 < share(counts["nobody"]) < 0.06
    assert all(not OFFERS.good(kind, text) for text in ALL if enough_from(kind, text) == "nobody")


def test_about_one_text_in_a_hundred_has_nothing_at_all() -> None:
    empty = [text for text in ALL if not any(OFFERS.good(kind, text) for kind in WANTED)]
    assert 0.005 < share(len(empty)) < 0.015


def test_only_taxa_have_files_at_inaturalist_and_many_need_them() -> None:
    for kind in ("image", "audio"):
        with_files = {text for text in ALL if OFFERS.good(kind, text).get("inaturalist")}
        in_need = [text for text in with_files if enough_from(kind, text) == "inaturalist"]
        assert with_files <= set(TEXTS.taxa)
        assert 0.2 < len(in_need) / len(TEXTS.taxa) < 0.4
    assert not any(OFFERS.good("visual", text).get("inaturalist") for text in TEXTS.taxa)


def test_about_one_text_in_twelve_has_one_bad_file_met_before_enough_good_ones() -> None:
    count = 0
    for text in ALL:
        lists = [OFFERS.files(provider, kind, text) for provider in PROVIDERS for kind in WANTED]
        bad = [(files, file) for files in lists for file in files if file.flaw]
        count += len(bad)
        assert len(bad) <= 1
        for files, file in bad:
            assert file.number <= WANTED[file.kind] + ("twin" in file.flaw)
            assert [each.number for each in files] == list(range(1, len(files) + 1))
    assert 0.06 < share(count) < 0.095


@pytest.mark.parametrize(("flaw", "kind"), FLAWS)
def test_every_flaw_occurs_several_times(flaw: str, kind: str) -> None:
    assert 4 <= len(bad_files(flaw, kind)) < 40


# Pictures, animations, sounds


def test_pictures_of_a_text_differ_clearly() -> None:
    for text in ALL[::180]:
        bodies = [
            content(file).body
            for provider in PROVIDERS
            for file in OFFERS.files(provider, "image", text)
            if not file.flaw
        ]
        assert all(distance(*pair) > 10 for pair in combinations(bodies, 2)), text


def test_pictures_of_different_texts_differ_clearly() -> None:
    hashes = [difference_hash(content(file).body) for file in good_files("image", 60)]
    unlike = [(one ^ other).bit_count() for one, other in combinations(hashes, 2)]
    assert sum(bits <= 8 for bits in unlike) < len(unlike) / 100
    assert min(unlike) > 3


def letters_of(words: str, look: str) -> tuple[Image.Image, tuple[int, int, int, int]]:
    """A picture, and what is in the colour of its letters."""
    image = Image.open(io.BytesIO(drawing.picture(words, look, "png"))).convert("RGB")
    is_letter = (np.asarray(image) == palette(words, look).letters).all(2)
    box = Image.fromarray(is_letter).getbbox()
    assert box is not None
    return image, box


@pytest.mark.parametrize("look", [f"commons {number}" for number in range(1, 8)])
def test_the_words_are_in_the_picture(look: str) -> None:
    (one, box), (other, _) = (letters_of(words, look) for words in ("dog", "dogs"))
    assert one.size == drawing.PICTURE
    assert box[2] - box[0] > drawing.PICTURE[0] / 6
    assert box[3] - box[1] > drawing.PICTURE[1] / 8
    assert one.tobytes() != other.tobytes()


def test_letters_stand_out_from_both_tones_of_the_ground() -> None:
    for words in ALL[::10]:
        for colours in (day(words), night(words)):
            assert contrast(colours.letters, colours.ground) > 4.5
            assert contrast(colours.letters, colours.second) > 4.5


def test_even_the_longest_text_stays_inside_its_picture() -> None:
    for text in sorted(ALL, key=len)[-20:]:
        image, box = letters_of(text, "look 1")
        assert min(box[:2]) > 0
        assert box[2] < image.width
        assert box[3] < image.height


def test_all_looks_of_a_text_have_another_style() -> None:
    for text in ALL:
        looks = {
            file.look for provider in PROVIDERS for file in OFFERS.files(provider, "image", text)
        }
        assert len({style(text, look) % 12 for look in looks}) == len(looks)


def test_every_motif_can_be_drawn_in_any_size() -> None:
    for name in motifs():
        for side in (20, 75, 260):
            image, mask = sprite(name, side)
            assert image.size == mask.size == (side, side)
            assert mask.getbbox() is not None


def test_every_listed_kind_has_a_motif_and_most_of_the_sample_one_of_its_own() -> None:
    shown = Counter(motif_of(text).partition(" ")[0] for text in ALL if not subject(text).relation)
    assert set(shown) <= set(motifs())
    assert len(shown) > 60
    assert shown["thing"] < 0.04 * shown.total()


@pytest.mark.parametrize(
    ("name", "motif"),
    [
        ("beagle", "dog"),
        ("oak", "tree"),
        ("walk dog", "dog"),
        ("salmon", "fish"),
        ("four", "number 4"),
    ],
)
def test_a_motif_comes_from_what_a_thing_is(name: str, motif: str) -> None:
    assert motif_of(name) == motif


def test_every_relation_that_can_be_shown_has_words_and_a_motion() -> None:
    assert set(SAID) == set(RELATIONS) == set(CONNECTIVES)


def test_both_ends_of_a_relation_look_different() -> None:
    abouts = [subject(text) for text in ALL]
    ends = [ends_of(about) for about in abouts if about.relation]
    assert len(ends) > 1_500
    assert all(start != end for start, end in ends)


def middles(words: str, tone: Colour) -> list[float]:
    """Where the middle of all that has this colour is, in each frame from the left."""
    gif = Image.open(io.BytesIO(animation(words, "commons 1")))
    found = []
    for frame in range(FRAMES):
        gif.seek(frame)
        places = (np.asarray(gif.convert("RGB")) == tone).all(2).nonzero()[1]
        found.append(float(places.mean()) if len(places) else np.nan)
    return found


def test_a_thing_goes_to_its_place_and_a_part_into_the_whole() -> None:
    for relation in ("AtLocation", "PartOf"):
        text = next(each for each in ALL if subject(each).relation == relation)
        moves, stays = (tones(name)["main"] for name in ends_of(subject(text)))
        ways = middles(text, moves)
        gaps = [abs(one - other) for one, other in zip(ways, middles(text, stays), strict=True)]
        assert gaps[-1] < gaps[0] / 2
        assert len({round(way) for way in ways}) > FRAMES / 2


def test_a_cause_turns_into_its_effect() -> None:
    text = next(each for each in ALL if subject(each).relation == "Causes")
    start, end = (middles(text, tones(name)["main"]) for name in ends_of(subject(text)))
    assert not np.isnan(start[0])
    assert np.isnan(start[-1])
    assert np.isnan(end[0])
    assert not np.isnan(end[-1])


def test_gifs_of_a_text_differ_clearly() -> None:
    for text in ALL[::180]:
        bodies = [
            content(file).body
            for provider in PROVIDERS
            for file in OFFERS.files(provider, "visual", text)
            if not file.flaw
        ]
        assert all(distance(*pair) > 6 for pair in combinations(bodies, 2)), text


def test_drawing_in_many_threads_changes_nothing() -> None:
    def both(words: str) -> bytes:
        return drawing.picture(words, "look") + animation(words, "look")

    words = [f"word {number}" for number in range(40)]
    alone = list(map(both, words))
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(both, words)) == alone


@pytest.mark.parametrize("extension", ["flac", "wav", "ogg", "mp3"])
@pytest.mark.parametrize(
    "words", ["dog", "guide dog", "dog can bark", "three", "washington, d.c", "bed bedroom"]
)
def test_a_sound_is_the_tune_of_its_words(extension: str, words: str) -> None:
    sound = voice.played(words, "look", extension)
    if extension != "mp3":  # which begins a little later than it should
        assert heard(sound.content, "look") == written_down(words)
    about = soundfile.info(io.BytesIO(sound.content))
    assert about.duration == pytest.approx(sound.seconds, rel=0.05, abs=0.15)


def test_the_tune_of_a_relation_is_that_of_both_its_ends() -> None:
    assert written_down("dog can bark") == [*voice.tune("dog"), voice.PAUSE, *voice.tune("bark")]


def test_kinds_of_things_are_played_on_different_instruments() -> None:
    names = ("dog", "oak", "child", "hammer")
    assert {voice.instrument(name) for name in names} == set(voice.INSTRUMENTS)


def test_no_sound_is_cut_off_at_its_loudest() -> None:
    for text in ALL[::50]:
        samples, _ = soundfile.read(io.BytesIO(voice.played(text, "look", "wav").content))
        assert 0.05 < np.abs(samples).max() < 0.95


def test_another_look_is_another_key() -> None:
    assert len({voice.played("dog", str(look), "wav").content for look in range(30)}) > 5


def test_an_ogg_is_the_same_each_time() -> None:
    assert voice.played("dog", "look", "ogg") == voice.played("dog", "look", "ogg")


@pytest.mark.parametrize(("kind", "count"), [("image", 30), ("visual", 15), ("audio", 25)])
def test_good_files_are_good(kind: str, count: int) -> None:
    files = good_files(kind, count)
    assert len({file.extension for file in files}) >= (2 if kind != "visual" else 1)
    for file in files:
        answer = sent(file)
        assert answer.status == 200
        assert not answer.headers
        if kind == "audio":
            if file.extension != "mp3":
                assert heard(answer.body, file.look) == written_down(file.text)
        else:
            assert frames_of(answer.body) == (FRAMES if kind == "visual" else 1)


def frames_of(body: bytes) -> int:
    """How many there are, each of them decoded."""
    with Image.open(io.BytesIO(body)) as image:
        count: int = getattr(image, "n_frames", 1)
        assert min(image.size) >= 100
        for frame in range(count):
            image.seek(frame)
            image.load()
    return count


# What is bad


def fetched(servers: Mapping[str, str], file: File) -> Reply:
    return get(urls(servers, file.provider, file.text, file.kind)[file.number - 1])


@pytest.mark.parametrize("kind", ["image", "audio"])
def test_html_comes_in_place_of_a_file(servers: dict[str, str], kind: str) -> None:
    replies = [fetched(servers, file) for file in bad_files("html", kind)[:8]]
    assert all(reply.body.startswith(b"<!DOCTYPE html>") for reply in replies)
    assert {reply.status for reply in replies} == {200}
    assert len({reply.headers["Content-Type"] for reply in replies}) > 1


@pytest.mark.parametrize("kind", WANTED)
def test_a_cut_file_ends_early_without_a_length(servers: dict[str, str], kind: str) -> None:
    file = bad_files("cut", kind)[0]
    reply = fetched(servers, file)
    assert "Content-Length" not in reply.headers
    assert reply.headers["Connection"] == "close"
    whole = content(file).body
    assert whole.startswith(reply.body)
    assert len(reply.body) < len(whole) * 0.7
    if kind == "audio":
        assert file.extension in ("mp3", "ogg")
    else:
        with pytest.raises(OSError, match="truncated"):
            frames_of(reply.body)


@pytest.mark.parametrize("kind", ["image", "audio"])
def test_an_empty_file_is_empty(servers: dict[str, str], kind: str) -> None:
    reply = fetched(servers, bad_files("empty", kind)[0])
    assert (reply.status, reply.body, reply.headers["Content-Length"]) == (200, b"", "0")


def test_a_bomb_claims_too_many_pixels(servers: dict[str, str]) -> None:
    reply = fetched(servers, bad_files("bomb", "image")[0])
    assert len(reply.body) < 1_000
    with pytest.raises(Image.DecompressionBombError):
        Image.open(io.BytesIO(reply.body))


def test_a_still_gif_has_one_frame_but_claims_to_move(servers: dict[str, str]) -> None:
    file = next(each for each in bad_files("still", "visual") if each.provider == "commons")
    assert frames_of(fetched(servers, file).body) == 1
    page = found_at_commons(servers["commons"], file.text, "visual")[file.number - 1]
    assert page["imageinfo"][0]["duration"] > 0


@pytest.mark.parametrize("kind", ["image", "audio"])
def test_a_missing_file_is_missing(servers: dict[str, str], kind: str) -> None:
    assert fetched(servers, bad_files("missing", kind)[0]).status == 404


@pytest.mark.parametrize("kind", ["image", "visual"])
def test_a_redirect_leads_into_the_network(servers: dict[str, str], kind: str) -> None:
    reply = fetched(servers, bad_files("redirect", kind)[0])
    assert (reply.status, reply.headers["Location"]) == (302, FORBIDDEN_PLACE)


@pytest.mark.parametrize("kind", ["image", "audio"])
def test_a_host_asks_to_leave_its_file_alone(servers: dict[str, str], kind: str) -> None:
    reply = fetched(servers, bad_files("noai", kind)[0])
    assert "noai" in reply.headers["X-Robots-Tag"]


def test_a_twin_has_the_same_bytes_under_another_name(servers: dict[str, str]) -> None:
    file = bad_files("twin", "image")[0]
    first, second = urls(servers, file.provider, file.text, "image")[:2]
    assert first != second
    assert get(first).body == get(second).body


def test_a_near_twin_has_other_bytes_of_the_same_picture(servers: dict[str, str]) -> None:
    for file in bad_files("near twin", "image")[:6]:
        first, second = (
            get(url).body for url in urls(servers, file.provider, file.text, "image")[:2]
        )
        assert first != second
        assert distance(first, second) <= 4


@pytest.mark.parametrize("kind", WANTED)
def test_an_unfree_file_says_so(servers: dict[str, str], kind: str) -> None:
    for file in bad_files("unfree", kind):
        if file.provider == "commons":
            page = found_at_commons(servers["commons"], file.text, kind)[file.number - 1]
            assert page["imageinfo"][0]["extmetadata"]["License"]["value"] == "cc-by-nd-4.0"
        elif file.provider == "openverse":
            results = found_at_openverse(servers["openverse"], file.text, kind)
            assert results[file.number - 1]["license"] == "by-nd"
            free = found_at_openverse(servers["openverse"], file.text, kind, license="by,cc0,pdm")
            assert all(result["license"] != "by-nd" for result in free)


@pytest.mark.parametrize("kind", ["image", "audio"])
def test_a_nameless_file_has_no_author(servers: dict[str, str], kind: str) -> None:
    file = next(each for each in bad_files("nameless", kind) if each.provider == "commons")
    page = found_at_commons(servers["commons"], file.text, kind)[file.number - 1]
    info = page["imageinfo"][0]
    assert "Artist" not in info["extmetadata"]
    assert "user" not in info


# Wikimedia Commons


def test_commons_tells_what_the_file_is(servers: dict[str, str]) -> None:
    for kind in WANTED:
        for page in found_at_commons(servers["commons"], text_with("commons", kind), kind):
            info = page["imageinfo"][0]
            body = get(info["url"]).body
            assert (info["size"], info["sha1"]) == (len(body), sha1(body).hexdigest())
            assert info["mediatype"] == ("AUDIO" if kind == "audio" else "BITMAP")
            assert ("duration" in info) == (kind != "image")
            assert info["extmetadata"]["Artist"]["value"].startswith("<a href=")
            assert get(info["url"]).headers["Content-Type"] == info["mime"]
            if kind != "audio":
                assert Image.open(io.BytesIO(body)).size == (info["width"], info["height"])


def test_commons_lists_pages_by_number_and_tells_their_rank(servers: dict[str, str]) -> None:
    is_out_of_order = False
    for text in ALL[:30]:
        asked = COMMONS | {"gsrsearch": f"{text} {FILTERS['image']}"}
        pages = get(f"{servers['commons']}/w/api.php", **asked).json().get("query", {"pages": []})
        numbers = [page["pageid"] for page in pages["pages"]]
        ranks = [page["index"] for page in pages["pages"]]
        assert numbers == sorted(numbers)
        assert sorted(ranks) == list(range(1, len(ranks) + 1))
        is_out_of_order |= ranks != sorted(ranks)
    assert is_out_of_order


def test_nothing_found_at_commons_is_an_answer_without_query(servers: dict[str, str]) -> None:
    asked = COMMONS | {"gsrsearch": "xyzzy filetype:bitmap"}
    assert get(f"{servers['commons']}/w/api.php", **asked).json() == {"batchcomplete": True}


def test_commons_heeds_filters(servers: dict[str, str]) -> None:
    text = next(
        text for text in ALL if all(OFFERS.good(kind, text).get("commons") for kind in WANTED)
    )

    def mimes(filters: str) -> set[str]:
        search = {"gsrsearch": f"{text} {filters}"}
        pages = found_at_commons(servers["commons"], text, "image", **search)
        return {page["imageinfo"][0]["mime"].partition("/")[2] for page in pages}

    assert "gif" in mimes("filetype:bitmap")
    assert "gif" not in mimes("filetype:bitmap -filemime:image/gif")
    assert mimes("filemime:image/gif") == {"gif"}
    assert mimes("filemime:image/gif filew:>5000") == set()
    assert mimes("filemime:image/gif filesize:<16384") == {"gif"}
    assert mimes("filemime:image/gif fileres:>300") == set()
    assert mimes("filetype:video") == set()
    assert mimes("filetype:video|audio -intitle:LL-Q")
    assert mimes(f"filetype:bitmap -intitle:{text.split()[0]}") == set()


def test_commons_pages_through_its_results(servers: dict[str, str]) -> None:
    text = text_with("commons", "image", enough=2)
    asked = COMMONS | {"gsrsearch": f"{text} {FILTERS['image']}", "gsrlimit": "1"}
    first = get(f"{servers['commons']}/w/api.php", **asked).json()
    assert first["continue"] == {"gsroffset": 1, "continue": "gsroffset||"}
    second = get(f"{servers['commons']}/w/api.php", **asked, **{"gsroffset": "1"}).json()
    assert [page["index"] for page in second["query"]["pages"]] == [2]


def test_the_old_format_of_commons_names_pages_by_number(servers: dict[str, str]) -> None:
    asked = COMMONS | {"gsrsearch": text_with("commons", "image"), "formatversion": "1"}
    reply = get(f"{servers['commons']}/w/api.php", **asked).json()
    assert reply["batchcomplete"] == ""
    assert all(number == str(page["pageid"]) for number, page in reply["query"]["pages"].items())


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"gsrsearch": ""}, "missingparam"),
        ({"action": "dance"}, "badvalue"),
        ({"gsrsearch": "dog", "gsrlimit": "many"}, "badinteger"),
    ],
)
def test_commons_reports_mistakes_with_status_200(
    servers: dict[str, str], changes: dict[str, str], code: str
) -> None:
    reply = get(f"{servers['commons']}/w/api.php", **(COMMONS | changes))
    assert (reply.status, reply.json()["error"]["code"]) == (200, code)


def test_only_a_large_picture_has_a_smaller_thumbnail(servers: dict[str, str]) -> None:
    large = next(
        file for text in ALL for file in OFFERS.files("commons", "image", text) if is_wide(file)
    )
    page = found_at_commons(servers["commons"], large.text, "image")[large.number - 1]
    info = page["imageinfo"][0]
    assert (info["width"], info["thumbwidth"]) == (1280, 960)
    assert Image.open(io.BytesIO(get(info["thumburl"]).body)).size == (960, 720)
    assert get(info["thumburl"].replace("/960px", "/961px")).status == 400
    small = found_at_commons(servers["commons"], text_with("commons", "visual"), "visual")[0]
    assert small["imageinfo"][0]["thumburl"] == small["imageinfo"][0]["url"]


# Openverse


def test_openverse_tells_what_the_file_is(servers: dict[str, str]) -> None:
    for kind in WANTED:
        text = text_with("openverse", kind)
        for result in found_at_openverse(
            servers["openverse"], text, kind, license="cc0,by,by-sa,pdm"
        ):
            body = get(result["url"]).body
            assert result["filesize"] in (None, len(body))
            assert result["filetype"] in (None, result["url"].rpartition(".")[2])
            assert result["license"] in result["license_url"] or result["license"] in ("cc0", "pdm")
            assert result["creator"]
            if kind == "audio":
                assert result["duration"] == pytest.approx(
                    1000 * soundfile.info(io.BytesIO(body)).duration, rel=0.05, abs=150
                )


@pytest.mark.parametrize(
    "filters",
    [
        {"license": "by-nc"},
        {"extension": "gif"},
        {"category": "digitized_artwork"},
        {"source": "elsewhere"},
        {"excluded_source": "sample"},
        {"license": "cc0", "license_type": "all-cc"},
    ],
)
def test_openverse_heeds_filters(servers: dict[str, str], filters: dict[str, str]) -> None:
    text = text_with("openverse", "image")
    assert found_at_openverse(servers["openverse"], text, "image", license_type="all")
    asked = {"extension": "jpg,png,webp"} | filters
    found = found_at_openverse(servers["openverse"], text, "image", **asked)
    assert all(result["url"].endswith(".gif") for result in found)
    assert not found or "extension" in filters


def test_nothing_found_at_openverse_is_an_empty_list(servers: dict[str, str]) -> None:
    reply = get(f"{servers['openverse']}/v1/audio/", q="xyzzy").json()
    assert (reply["result_count"], reply["page_count"], reply["results"]) == (0, 0, [])


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ({"q": "dog", "page_size": "50"}, 401),
        ({"q": "dog", "page": "100"}, 401),
        ({"q": "dog", "page_size": "some"}, 400),
        ({"q": "d" * 201}, 400),
        ({"q": "dog", "license": "free"}, 400),
    ],
)
def test_openverse_refuses_mistakes(
    servers: dict[str, str], query: dict[str, str], status: int
) -> None:
    reply = get(f"{servers['openverse']}/v1/images/", **query)
    assert (reply.status, list(reply.json())) == (status, ["detail"])


# iNaturalist


def test_inaturalist_finds_taxa_by_the_beginning_of_their_name(servers: dict[str, str]) -> None:
    def names(asked: str) -> list[str]:
        taxa = get(f"{servers['inaturalist']}/v1/taxa/autocomplete", q=asked).json()["results"]
        return [taxon["preferred_common_name"] for taxon in taxa]

    assert names("cat")[0] == "Cat"
    assert {"Catfish", "Catnip"} <= set(names("cat"))
    assert names("bed") == []


@pytest.mark.parametrize("kind", ["image", "audio"])
def test_inaturalist_has_files_of_taxa(servers: dict[str, str], kind: str) -> None:
    base, text = servers["inaturalist"], text_with("inaturalist", kind)
    for file in found_at_inaturalist(base, text, kind):
        assert file["license_code"] is None or file["license_code"].startswith("cc")
        if kind == "image":
            large = get(file["url"].replace("square", "large"))
            assert Image.open(io.BytesIO(large.body)).size == tuple(
                file["original_dimensions"][side] for side in ("width", "height")
            )
            assert Image.open(io.BytesIO(get(file["url"]).body)).width == 75
        else:
            assert soundfile.info(io.BytesIO(get(file["file_url"]).body)).duration > 0.5


def test_inaturalist_heeds_licences(servers: dict[str, str]) -> None:
    base, text = servers["inaturalist"], text_with("inaturalist", "image")
    every = found_at_inaturalist(base, text, "image")
    by_code = [
        file
        for code in ("cc0", "cc-by", "cc-by-sa")
        for file in found_at_inaturalist(base, text, "image", photo_license=code)
    ]
    assert every
    assert sorted(file["id"] for file in by_code) == sorted(file["id"] for file in every)
    assert found_at_inaturalist(base, text, "image", photo_license="cc-by-nc") == []
    assert found_at_inaturalist(base, text, "image", quality_grade="casual") == []


def test_inaturalist_refuses_a_taxon_it_does_not_know(servers: dict[str, str]) -> None:
    assert get(f"{servers['inaturalist']}/v1/observations", taxon_id="7").status == 422
    assert get(f"{servers['inaturalist']}/v1/taxa/autocomplete").status == 422


# Pages for people


def test_a_person_can_open_the_page_of_a_file(servers: dict[str, str]) -> None:
    text = text_with("commons", "image")
    info = found_at_commons(servers["commons"], text, "image")[0]["imageinfo"][0]
    other = text_with("openverse", "audio")
    result = found_at_openverse(servers["openverse"], other, "audio")[0]
    for page, file, author in (
        (info["descriptionurl"], info["url"], info["user"]),
        (result["foreign_landing_url"], result["url"], result["creator"]),
    ):
        reply = get(page)
        assert reply.headers["Content-Type"].startswith("text/html")
        assert f'src="{file}"' in reply.body.decode()
        assert author in reply.body.decode()


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/files/Xyzzy_1.jpg",
        "/wikipedia/commons/a/ab/Dog_99.jpg",
        "/wiki/File:Dog_1.exe",
        "/photos/999999999/large.jpg",
        "/sounds/0.wav",
        "/observations/1000000000000",
    ],
)
def test_what_does_not_exist_is_not_found(
    servers: dict[str, str], provider: str, path: str
) -> None:
    assert get(servers[provider] + path).status == 404


# The process


def texts_of_every_format() -> set[str]:
    first: dict[str, str] = {}
    for text in ALL:
        for kind in WANTED:
            for file in OFFERS.files("commons", kind, text):
                first.setdefault(file.extension, text)
    assert set(first) == set(MIMES)
    return set(first.values())


def all_said(servers: Mapping[str, str]) -> list[str]:
    """What is told about some texts and all their files, wherever the servers are."""
    said = []
    for text in sorted(texts_of_every_format()):
        for kind in WANTED:
            asked = COMMONS | {"gsrsearch": f"{text} {FILTERS[kind]}"}
            told = get(f"{servers['commons']}/w/api.php", **asked).body.decode()
            said.append(told.replace(servers["commons"], ""))
            addresses = urls(servers, "commons", text, kind)
            said += [sha256(get(url).body).hexdigest() for url in addresses]
    return said


def test_another_process_says_the_same(
    servers: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONHASHSEED", "7")
    with MediaServers() as others:
        assert set(others.servers.values()).isdisjoint(servers.values())
        assert all_said(others.servers) == all_said(servers)


def test_it_runs_from_any_folder_and_ends_with_the_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with MediaServers() as running:
        assert list(running.servers) == list(PROVIDERS)
        addresses = list(running.servers.values())
        assert running.pid is not None
        assert os.getsid(running.pid) != os.getsid(0)  # Ctrl-C does not reach it
    running.close()
    for address in addresses:
        with pytest.raises(ConnectionRefusedError):
            get(f"{address}/")


def test_the_process_ends_when_its_parent_is_killed() -> None:
    program = (
        "from tools.sample.media import MediaServers\n"
        "with MediaServers() as running:\n"
        "    print(running.servers['commons'], flush=True)\n"
        "    input()\n"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=Path(__file__).parents[2],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert parent.stdout is not None
    address = parent.stdout.readline().strip()
    assert get(f"{address}/").status == 404
    parent.send_signal(signal.SIGKILL)
    # The servers hold the other end of this pipe as long as they live.
    parent.communicate(timeout=60)
    with pytest.raises(ConnectionRefusedError):
        get(f"{address}/")


def test_servers_that_start_too_late_are_an_error() -> None:
    with (
        pytest.raises(Unreachable, match="did not start within 0 seconds"),
        MediaServers(start_s=0),
    ):
        pass


def test_servers_that_cannot_start_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(Unreachable, match="did not start"), MediaServers():
        pass
