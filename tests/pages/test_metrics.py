"""What Prometheus is told of a crawl, read by its own parser while the crawl runs."""

from __future__ import annotations

import time
import urllib.request
from urllib.error import URLError

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.support.command import start
from tests.support.ports import free_port

Numbers = dict[str, dict[str, float]]


def asked(port: int) -> Numbers:
    """By name and the values of the labels."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as answer:
        text = answer.read().decode()
    found: Numbers = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels = dict(sample.labels)
            bound = [labels.pop("le")] if "le" in labels else []
            named = ",".join([*labels.values(), *bound])
            found.setdefault(sample.name, {})[named] = sample.value
    return found


@pytest.mark.timeout(60)
def test_links_and_archive_are_counted() -> None:
    port = free_port()
    process = start("main.py", "pages", "--sample", "--delay", "0.3", "--metrics", port)
    told: Numbers = {}
    try:
        while told.get("sheaf_links_total", {}).get("followed", 0) < 20:
            assert process.poll() is None, process.communicate()
            time.sleep(0.2)
            try:
                told = asked(port)
            except (URLError, ConnectionError):
                continue  # it has only begun
    finally:
        process.terminate()
        process.communicate(timeout=60)
    assert told["sheaf_archive_bytes"][""] > 1000
    assert told["sheaf_pool"]["to_download"] > 0
    assert set(told["sheaf_bytes_total"]) == {"sent", "received"}
    requests = sum(told["sheaf_http_responses_total"].values())
    assert told["sheaf_bytes_total"]["sent"] > 80 * requests > 0  # a line, a host, an agent each
    hosts = told["sheaf_hosts"]
    assert set(hosts) == {"busy", "waiting", "resting"} and sum(hosts.values()) <= 1
    check_spread(told)


def check_spread(told: Numbers) -> None:
    """As Prometheus reads histograms: bounds that grow, each with all that were quicker."""
    for stage in ("download", "analyse", "control"):
        named = {
            float(key.removeprefix(f"{stage},")): number
            for key, number in told["sheaf_task_seconds_bucket"].items()
            if key.startswith(f"{stage},")
        }
        numbers = [named[bound] for bound in sorted(named)]
        assert len(numbers) == 15 and numbers == sorted(numbers)
        assert numbers[-1] == told["sheaf_task_seconds_count"][stage] > 0
        assert numbers[-2] > 0 and told["sheaf_task_seconds_sum"][stage] > 0
