"""The built-in shop: shown offline in seconds, with its own verdict; and with every flaw it has."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.command import run
from tests.support.layers import activity, failures, rows, seen
from tools.commands.sample_world import TASKS
from tools.engine import returns
from tools.layers.catalogue import load_task
from tools.layers.task import Limits, Task
from tools.sample import shop
from tools.sample.shop import TRUTH, Flaws
from tools.sample.shop_site import ShopSite

pytestmark = pytest.mark.timeout(120)


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(returns, "FIRST_RETRY_S", 0.02)


def task_at(name: str, site: ShopSite) -> Task:
    """Asked at its port, as any site is."""
    task = load_task(TASKS, name)
    task.base = f"{site.url}/"
    task.limits = replace(Limits(), delay_s=0.0, per_host=8)
    return task


def numbers(task: Task, state: Path) -> dict[str, int]:
    columns = {"product": "sku", "review": "id", "review_tag": "tag", "brand_hit": "sku"}
    return {name: len(rows(task, state, name, columns[name])) for name in task.tables}


def test_the_sample_is_shown_with_its_verdict(tmp_path: Path) -> None:
    done = run("main.py", "layers", "--sample", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    wanted = ", ".join(f"{name} {number}" for name, number in TRUTH.items())
    assert f"as the shop knows of itself: {wanted}" in done.stdout + done.stderr
    again = run("main.py", "layers", "--sample", "-q", cwd=tmp_path)
    assert again.returncode == 0 and not again.stdout
    assert run("main.py", "layers", "shop", "--sample", "--status", cwd=tmp_path).returncode == 0
    own = tmp_path / "tasks"
    own.mkdir()
    (own / "shop.toml").write_text((TASKS / "shop.toml").read_text())
    other = run("main.py", "layers", "shop", cwd=tmp_path)
    assert other.returncode == 2 and "the built-in task shop" in other.stderr


def test_both_tasks_ask_for_as_many_pages_as_they_must(tmp_path: Path) -> None:
    for name in ("shop", "brands"):
        with ShopSite() as site:
            task = task_at(name, site)
            activity(task, tmp_path / name)
            asked = site.server.asked.copy()
        asked.pop("GET /robots.txt")
        assert asked.total() == shop.REQUESTS[name]
        assert numbers(task, tmp_path / name) == {each: TRUTH[each] for each in task.tables}


def test_a_second_activity_asks_only_what_it_must_and_doubles_nothing(tmp_path: Path) -> None:
    with ShopSite() as site:
        task = task_at("shop", site)
        activity(task, tmp_path)
        first = site.server.asked.copy()
        activity(task, tmp_path)
        more = site.server.asked - first
    assert not [target for target in more if target.startswith("GET /p/")]
    assert numbers(task, tmp_path) == {name: TRUTH[name] for name in task.tables}


def test_every_flaw_of_the_shop_costs_only_what_it_must(tmp_path: Path) -> None:
    flaws = Flaws(gone=True, once=True, drip_s=1.0, gbk=True, itself=True, pair=True)
    with ShopSite(flaws) as site:
        task = task_at("shop", site)
        activity(task, tmp_path)
        assert site.server.asked[f"GET /p/{shop.ONCE}"] == 2
        assert max(count for target, count in site.server.asked.items() if "/c/" in target) == 1
    assert [*failures(tmp_path).values()] == ["HTTP 410"]
    products = dict(rows(task, tmp_path, "product", "sku", "name"))
    assert len(products) == TRUTH["product"] - 1 and shop.GONE not in products
    assert products[shop.CHINESE] == shop.BY_SKU[shop.CHINESE].name
    assert not seen(tmp_path).facts["check"]


def test_a_drip_that_takes_too_long_is_tried_again_and_then_told(tmp_path: Path) -> None:
    with ShopSite(Flaws(drip_s=30.0)) as site:
        task = task_at("shop", site)
        task.attempts = 1
        activity(task, tmp_path, layers={"timeout_s": 1.0})
    ((uri, reason),) = failures(tmp_path).items()
    assert uri.endswith(shop.DRIPPING) and "no complete answer in time" in reason
    assert len(rows(task, tmp_path, "product", "sku")) == TRUTH["product"] - 1


def test_markup_that_changed_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with ShopSite(Flaws(changed=True)) as site:
        task = task_at("shop", site)
        activity(task, tmp_path)
        assert not seen(tmp_path).facts["check"]
        activity(task, tmp_path)
        task.again = ["detail"]
        with caplog.at_level(logging.WARNING):
            activity(task, tmp_path)
    assert seen(tmp_path).facts["check"] == "product.price is in 0% of the latest rows, not in 90%"
    assert "or the site has changed: product.price" in caplog.text


def test_a_form_without_its_state_is_refused_by_the_shop_and_told(tmp_path: Path) -> None:
    """A class that leaves out what a browser would send."""
    with ShopSite() as site:
        task = task_at("brands", site)
        whole = task.work

        def forgetful(request: object, page: object) -> object:
            for item in whole(request, page):  # type: ignore[arg-type]
                pairs = tuple(pair for pair in getattr(item, "payload", ()) if pair[0] == "brand")
                yield replace(item, payload=pairs) if pairs else item  # type: ignore[type-var]

        task.work = forgetful  # type: ignore[method-assign,assignment]
        task.attempts = 2
        activity(task, tmp_path)
    assert {*failures(tmp_path).values()} == {"HTTP 400 (after 2 attempts)"}
