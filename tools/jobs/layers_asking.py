"""How the sites of a task are asked: whom, through which client, how politely."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from threading import Event
from urllib.parse import urlsplit

from ..layers.asker import Asker, lane_in
from ..layers.cookies import Cookies
from ..layers.request import Request, identity_of
from ..layers.robots import Robots
from ..layers.task import Task
from ..layers.visit import Given, Visit
from ..network.client import Client
from ..network.hosts import Hosts
from ..network.limits import KeptLimits
from ..network.response import Response
from ..proxy import Proxies
from ..settings import Settings
from ..tables.declared import tables_of


def hosts_of(settings: Settings, task: Task) -> Hosts:
    """As the task limits itself, or the settings do."""
    layers, limits = settings.layers, task.limits
    return Hosts(
        layers.delay_s if limits.delay_s is None else limits.delay_s,
        layers.delay_factor if limits.delay_s is None else 0.0,
        limits.per_host or layers.per_host,
        layers.crawl_delay_cap_s,
    )


def task_client(
    settings: Settings,
    task: Task,
    stop: Event,
    more: Iterable[str] = (),
    kept: KeptLimits | None = None,
) -> Client:
    """Hosts that the task names may be anywhere; `more` are addresses its user typed. `kept` are
    limits that somebody else keeps."""
    rates = {**settings.http.limits, **task.limits.rates}
    patience = settings.layers.connect_timeout_s
    http = replace(settings.http, connect_timeout_s=patience, limits=rates)
    named = [task.base, *(request.url for request in task.starts()), *more]
    hosts = {host for url in named if (host := urlsplit(url).netloc.rpartition("@")[2])}
    proxies, connections = Proxies(settings.proxy.urls), task.workers
    return Client(http, proxies, stop, connections, trusted=hosts, kept=kept)


def asker_of(settings: Settings, task: Task, client: Client, hosts: Hosts) -> Asker:
    timeout = settings.layers.timeout_s
    robots = Robots(client, hosts, timeout) if task.robots else None
    cookies = Cookies() if task.cookies == "task" else None
    return Asker(client, hosts, robots, cookies, timeout, settings.layers.max_bytes)


class Trial:
    """Asks for one page at once, and reads it."""

    def __init__(self, task: Task, asker: Asker) -> None:
        self._asker = asker
        self._visit = Visit(task, tables_of(task.tables, f"{task.place}: tables"), asker)

    def __call__(self, request: Request) -> tuple[Given, Response]:
        lane = lane_in(identity_of(request))
        self._asker.know_rules(lane, request.address)
        response = self._visit.answer(lane, request)
        return self._visit.read(request, response), response


@contextmanager
def trial_of(settings: Settings, task: Task, address: str) -> Iterator[Trial]:
    with closing(task_client(settings, task, Event(), [address])) as client:
        yield Trial(task, asker_of(settings, task, client, hosts_of(settings, task)))
