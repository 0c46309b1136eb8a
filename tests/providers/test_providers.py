"""Every provider asks for what it should, and survives whatever it is answered."""

from __future__ import annotations

import itertools
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from threading import Event
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.support.provider_world import (
    CASES,
    HOST,
    KEY,
    LICENCES,
    REMOVED,
    SPOILED,
    Api,
    Canned,
    Case,
    places,
    spoiled,
)
from tools.add import KINDS
from tools.errors import BadStatus, HarvestError, ServerTrouble, Unavailable, UsageError
from tools.media.offer import Candidate, Provider
from tools.network.client import Client
from tools.network.settings import HttpSettings
from tools.providers import (
    archive,
    commons,
    flickr,
    freesound,
    giphy,
    inaturalist,
    openverse,
    pexels,
)

NOWHERE = "http://provider.example"
HTML = b"<!DOCTYPE html><title>Are you a robot?</title>"
MODULES = (archive, commons, flickr, freesound, giphy, inaturalist, openverse, pexels)
KEYED: tuple[Any, ...] = (flickr.Flickr, freesound.Freesound, pexels.Pexels, giphy.Giphy)
every_case = pytest.mark.parametrize("case", CASES, ids=str)


@pytest.fixture
def serve() -> Iterator[Callable[..., tuple[Api, Provider]]]:
    """A case's provider, and the server it asks through a client that trusts it."""
    with ExitStack() as stack:

        def start(case: Case, answers: Any = None, status: int = 200) -> tuple[Api, Provider]:
            server = stack.enter_context(Api(answers or case.answers, status))
            settings = HttpSettings(limits={}, tries=1, answer_timeout_s=5.0)
            client = Client(settings, None, Event(), trusted=(urlsplit(server.url).netloc,))
            stack.callback(client.close)
            return server, case.make(client, LICENCES, server.url, case.key)

        yield start


def canned(case: Case, answers: Any = None) -> Provider:
    made: Provider = case.make(Canned(answers or case.answers), LICENCES, NOWHERE, case.key)
    return made


def expected(case: Case, base: str) -> list[Candidate]:
    return [
        each._replace(url=each.url.replace(HOST, base), page=each.page.replace(HOST, base))
        for each in case.found
    ]


# ---- what is asked, and what comes of the answer


@every_case
def test_an_answer_becomes_these_candidates(case: Case, serve: Callable[..., Any]) -> None:
    server, provider = serve(case)
    assert provider.search(case.text, case.kind) == expected(case, server.url)


@every_case
def test_exactly_this_is_asked(case: Case, serve: Callable[..., Any]) -> None:
    server, provider = serve(case)
    provider.search(case.text, case.kind)
    assert server.asked == list(case.asked)
    for request in server.requests:
        assert request.headers["accept"] == "application/json"
        assert {name: request.headers.get(name) for name in case.headers} == case.headers
        assert case.headers or "authorization" not in request.headers


@every_case
def test_a_text_of_orders_is_searched_as_words(case: Case, serve: Callable[..., Any]) -> None:
    server, provider = serve(case)
    provider.search('Guide:dog* -"x" OR &q=1#', case.kind)
    told = " ".join(server.asked[0][1].values())
    assert "Guide dog x or q 1" in told


@every_case
def test_nothing_is_asked_for_a_text_without_words(case: Case, serve: Callable[..., Any]) -> None:
    server, provider = serve(case)
    assert provider.search("?!", case.kind) == []
    assert server.requests == []


@every_case
def test_nothing_is_asked_for_a_kind_it_does_not_have(
    case: Case, serve: Callable[..., Any]
) -> None:
    server, provider = serve(case)
    others = [kind for kind in (*KINDS, "smell") if kind not in provider.kinds]
    assert [provider.search(case.text, kind) for kind in others] == [[]] * len(others)
    assert server.requests == []
    assert case.kind in provider.kinds <= set(KINDS)


@every_case
def test_only_licences_of_the_list_are_returned(case: Case) -> None:
    provider = case.make(Canned(case.answers), ("by-nc-nd",), NOWHERE, case.key)
    found = provider.search(case.text, case.kind)
    assert found == (expected(case, NOWHERE) if provider.is_link_only else [])


# ---- what is not as it should be


@every_case
def test_nothing_found_is_an_empty_list(case: Case) -> None:
    empty = {"batchcomplete": True, "stat": "ok", "results": [], "data": []}
    photos: Any = [] if case.make is pexels.Pexels else {"photo": []}
    for path, _ in case.asked[:2]:
        answers = case.with_answer(path, {**empty, "photos": photos, "response": {"docs": []}})
        if not path.startswith("/metadata"):
            assert canned(case, answers).search(case.text, case.kind) == []


@every_case
@pytest.mark.parametrize("body", [HTML, b"", b"[]", b"null", b'"captcha"', b"{", b"\xff", b"{}"])
def test_an_answer_of_another_shape_is_trouble_and_not_an_empty_list(
    case: Case, body: bytes
) -> None:
    first = case.asked[0][0]
    with pytest.raises(ServerTrouble, match=r"^provider\.example (sent|reports) \w+"):
        canned(case, case.with_answer(first, body)).search(case.text, case.kind)


@every_case
def test_trouble_says_what_was_sent(case: Case) -> None:
    with pytest.raises(ServerTrouble) as caught:
        canned(case, case.with_answer(case.asked[0][0], HTML)).search(case.text, case.kind)
    assert str(caught.value) == "provider.example sent text/html that is not JSON"


@every_case
def test_a_bad_value_costs_at_most_its_candidate(case: Case) -> None:
    # Commons sorts: there the first page of the answer is the second candidate.
    kept = expected(case, NOWHERE)[0 if str(case) == "commons-image" else 1]
    for path, begin in case.spoilable:
        answer = case.answers[path]
        for place, value in itertools.product(places(answer, begin), (*SPOILED, REMOVED)):
            answers = case.with_answer(path, spoiled(answer, place, value))
            found = canned(case, answers).search(case.text, case.kind)
            assert kept in found and len(found) <= 2, (place, value)
            for each in found:
                assert_is_sound(each)


def assert_is_sound(candidate: Candidate) -> None:
    """What every candidate is, wherever it came from."""
    for address in (candidate.url, candidate.page, candidate.license_url or NOWHERE):
        assert address.startswith(("http://", "https://")) and address.isascii()
        assert address.isprintable() and " " not in address and len(address) < 7000
    for text in (candidate.author, candidate.title, candidate.remark):
        assert text is None or (text.isprintable() and 0 < len(text) <= 300)
    for number in (candidate.bytes, candidate.duration):
        assert number is None or (not isinstance(number, bool) and 0 < number < 1e13)
    assert candidate.license and candidate.author


@every_case
def test_requests_that_fail_say_so(case: Case, serve: Callable[..., Any]) -> None:
    for status, error in ((429, Unavailable), (403, BadStatus), (500, ServerTrouble)):
        _, provider = serve(case, status=status)
        with pytest.raises(error):
            provider.search(case.text, case.kind)


# ---- keys


@pytest.mark.parametrize("case", [case for case in CASES if case.key], ids=str)
@pytest.mark.parametrize("status", [200, 301, 401, 403, 404, 429, 500])
def test_a_key_is_in_no_error(case: Case, status: int, serve: Callable[..., Any]) -> None:
    told = b'{"stat": "fail", "code": 1, "error": "bad key %s"}' % KEY.encode()
    server, provider = serve(case, dict.fromkeys(case.answers, told), status)
    with pytest.raises(HarvestError) as caught:
        provider.search(case.text, case.kind)
    assert len(server.requests) == 1
    assert KEY not in "".join(traceback.format_exception_only(caught.value))
    assert KEY not in repr(provider) + repr(caught.value.args)


@pytest.mark.parametrize("case", [case for case in CASES if case.key], ids=str)
def test_a_key_is_in_no_error_of_the_network(case: Case, serve: Callable[..., Any]) -> None:
    server, provider = serve(case)
    server.go_away()
    with pytest.raises(ServerTrouble) as caught:
        provider.search(case.text, case.kind)
    assert KEY not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("key", ["", " ", "two words", "line\nend", "\u00fcml"])
def test_a_key_that_cannot_be_one_is_refused_without_being_shown(key: str) -> None:
    for make in KEYED:
        with pytest.raises(UsageError, match=make.name) as caught:
            make(Canned({}), LICENCES, NOWHERE, key)
        assert key.strip() == "" or key not in str(caught.value)


# ---- what a provider says of itself


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.NAME)
def test_a_module_begins_with_what_may_change(module: Any) -> None:
    assert module.BASE.startswith("https://")
    assert urlsplit(module.BASE).netloc in module.LIMITS


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.NAME)
def test_a_client_accepts_its_limits(module: Any) -> None:
    for limits in (module.LIMITS, getattr(module, "LIMITS_WITH_KEY", {})):
        Client(HttpSettings(), None, Event(), limits=limits).close()


def test_only_living_things_are_not_for_relations_and_only_gifs_of_giphy_are_linked() -> None:
    made = {case.make.name: canned(case) for case in CASES}  # type: ignore[attr-defined]
    assert [name for name, each in made.items() if not each.is_for_relations] == ["inaturalist"]
    assert [name for name, each in made.items() if each.is_link_only] == ["giphy"]
    assert {module.NAME for module in MODULES} == set(made)
