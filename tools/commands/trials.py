"""What weeks of work depend on is tried before they begin.

Promise: nothing is harvested and nothing is left behind; each thing is tried for real, once, and
gets one line. Limit: each provider is asked for one search, which counts towards its day.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from shutil import disk_usage
from threading import Event
from typing import NamedTuple

from ..assist.notify import trials as notice_trials
from ..base.say import say
from ..base.text import amount, plain, size
from ..conceptnet.api import JSON, ApiSource
from ..conceptnet.graph import open_graph, visit_graph
from ..errors import Fatal, GiveUp, HarvestError, StopHarvest, Unreachable, UsageError
from ..graphs.open import is_embedded, sqlite_path
from ..jobs.conceptnet import wanted_by
from ..jobs.conceptnet_asking import asks_strangers, client_of
from ..jobs.conceptnet_plan import try_file
from ..journal.holder import running
from ..network.client import Client
from ..network.proxy_list import ProxyList
from ..providers import catalogue
from ..providers.resting import PatientProvider
from ..proxy import Proxies, without_password
from ..settings import Settings

SEARCH = "dog"  # whoever has anything has one
MOST_SEEDS = 10
NAME_WIDTH = 24


class Trial(NamedTuple):
    name: str
    run: Callable[[], str]
    """One sentence about what works; raises HarvestError with what does not."""


def run_trials(settings: Settings, quiet: bool) -> int:
    with closing(client_of(settings, Event())) as client:
        return run_all(trials(settings, client), "python main.py", quiet)


def run_all(trials: Iterable[Trial], command: str, quiet: bool) -> int:
    """The exit code of the first thing that does not work. `command` is what can begin then."""
    failures: list[HarvestError] = []
    for name, run in trials:
        try:
            mark, text = "ok", run()
        except HarvestError as error:
            failures.append(error)
            mark, text = "FAILED", str(error)
        if mark == "FAILED" or not quiet:
            say(f"{mark:6}  {name:{NAME_WIDTH}}  {plain(text)}")
    if failures:
        raise summed_up(failures)
    if not quiet:
        say(f"all of this works: `{command}` can begin")
    return 0


def summed_up(failures: list[HarvestError]) -> Fatal:
    number = len(failures)
    error = Fatal(f"{amount(number, 'thing')} {'does' if number == 1 else 'do'} not work yet")
    error.exit_code = failures[0].exit_code
    return error


def trials(settings: Settings, client: Client) -> Iterator[Trial]:
    """In the order in which a harvest needs them."""
    yield Trial("state folder", partial(try_state, settings))
    yield Trial("graph", partial(try_graph, settings))
    if settings.source_file is None:
        yield Trial("source", partial(try_server, settings, client))
    else:
        yield Trial("source", partial(try_file, settings.source_file))
    for number, url in enumerate(settings.proxy.urls, 1):
        yield Trial(f"proxy {number}", partial(try_proxy, settings, url))
    if settings.proxy.ask:
        yield Trial("proxy list", partial(try_proxy_list, settings))
    if settings.extend.is_wanted:
        yield Trial("media folder", partial(try_media, settings))
        yield Trial("contact", partial(try_contact, settings))
        for provider in catalogue.opened(settings.extend, client):
            yield Trial(f"provider {provider.name}", partial(try_provider, provider))
    for name, send in notice_trials(settings.notices):
        yield Trial(name, partial(try_notice, send))
    if settings.transport.host:
        yield Trial("receiving node", partial(try_node, settings))


def try_state(settings: Settings) -> str:
    if holder := running(settings.state):
        return f"{settings.state} is in use: a harvest runs there (process {holder.pid})"
    return try_folder(settings.state, settings.reserve_bytes)


def try_media(settings: Settings) -> str:
    return try_folder(settings.media, settings.reserve_bytes)


def try_folder(folder: Path, reserve: int) -> str:
    """The folder itself, or where it would be made. Only a file without a name is written."""
    place = next(each for each in (folder, *folder.absolute().parents) if each.exists())
    try:
        with tempfile.TemporaryFile(dir=place) as file:
            file.write(b"Sheaf")
            file.flush()
        free = disk_usage(place).free
    except OSError as error:
        raise StopHarvest(
            f"{place} cannot be written ({error.strerror}): give it to this user, or name another"
        ) from error
    if free < reserve:
        raise StopHarvest(
            f"the disk with {place} has {size(free)} left, less than the reserve of {size(reserve)}"
            " (reserve_bytes): make room, or no media are fetched"
        )
    return f"{folder} can be written, and its disk has {size(free)} left"


def try_graph(settings: Settings) -> str:
    """A server gets its constraints, as by any start; a file that is not there is not made."""
    url, password = settings.graph_url, settings.neo4j.password
    if not is_embedded(url):
        with closing(open_graph(url, password)) as graph:
            return f"{url} answers and can be written; concepts: {graph.counts().entities:,}"
    existing = visit_graph(url, password)
    if existing is None:
        return try_folder(sqlite_path(url).parent, 0)
    with closing(existing) as graph:
        return f"{url} can be read; concepts: {graph.counts().entities:,}"


def try_server(settings: Settings, client: Client) -> str:
    """Through the proxies, if there are any; the first seeds must have something to begin with."""
    source = ApiSource(settings.source, client, wanted_by(settings))
    source.check()
    begun = time.monotonic()
    found = sum(relations_of(seed, source) for seed in settings.seeds[:MOST_SEEDS])
    seconds = time.monotonic() - begun
    asked = amount(len(settings.seeds[:MOST_SEEDS]), "seed")
    return f"{source.base} knows {amount(found, 'relation')} of {asked} ({seconds:.1f} s)"


def relations_of(seed: str, source: ApiSource) -> int:
    try:
        return len(source.page(seed))
    except GiveUp as error:
        raise UsageError(f"{source.base} has nothing about the seed {seed}: {error}") from error
    except HarvestError as error:
        raise Unreachable(f"{source.base} does not answer about {seed}: {error}") from error


def try_proxy_list(settings: Settings) -> str:
    try:
        listed = ProxyList(settings.proxy.ask, settings.http, Event())()
    except HarvestError as error:
        raise Unreachable(f"the list of proxy.ask cannot be had: {error}") from error
    return f"it names {len(listed):,} proxies, such as {without_password(listed[0])}"


def try_proxy(settings: Settings, url: str) -> str:
    """Each alone: in a harvest a dead one would only be left out."""
    address = asked_through_proxies(settings)
    begun = time.monotonic()
    with closing(client_of(settings, Event(), Proxies([url]))) as client:
        try:
            client.get(address, JSON, tries=1)
        except GiveUp:
            pass  # it answers, if only to say no
        except HarvestError as error:
            raise Unreachable(
                f"{without_password(url)} does not reach {address} ({error}): mend it or take it "
                "out of the list"
            ) from error
    return f"{without_password(url)} reached {address} in {time.monotonic() - begun:.1f} s"


def asked_through_proxies(settings: Settings) -> str:
    """The source; with a file as source, the first provider."""
    if settings.source_file is None:
        return settings.source
    return catalogue.base_of(settings.extend.providers[0], settings.extend)


def try_contact(settings: Settings) -> str:
    if contact := settings.http.contact:
        return f"providers are asked to write to {contact}"
    if not asks_strangers(settings):
        return "none is set, and no stranger is asked"
    raise UsageError(
        "none is set, and Wikimedia refuses those who do not say who asks: write your address as "
        "`contact` under [http] in sheaf.toml"
    )


def try_provider(provider: PatientProvider) -> str:
    kind = min(provider.kinds)
    try:
        found = provider.search(SEARCH, kind)
    except HarvestError as error:
        raise Unreachable(
            f"no answer to a search ({error}): look at its key, or leave it out"
        ) from error
    return f"answers: {amount(len(found), 'file')} of kind {kind} for {SEARCH!r}"


def try_notice(send: Callable[[], str | None]) -> str:
    if (reason := send()) is not None:
        raise Unreachable(f"the notice was not sent: {reason}")
    return "a notice was sent; look whether it has arrived"


def try_node(settings: Settings) -> str:
    from .batches import try_out  # it takes paramiko with it

    trial = try_out(settings)
    room = "" if trial.free is None else f" and has {size(trial.free)} left"
    return f"{trial.place} took a file, gave it back, let it be removed{room}"
