"""Tasks and what they bring are plain data."""

from __future__ import annotations

import pickle

import orjson

from tools.engine.stage import Done, Found, Stage, Task


def test_a_task_and_what_it_brings_can_travel() -> None:
    task = Task(1, "/c/en/dog", Stage("fetch", 2), None, 3, 4, token=5 << 40 | 6, holder="fetch-1")
    done = Done("finished", [Found("fetch", ["/c/en/cat"])], ["records"], {"seen": 1})
    assert pickle.loads(pickle.dumps((task, done))) == (task, done)
    assert orjson.loads(orjson.dumps(task))["token"] == task.token
    assert orjson.loads(orjson.dumps(done))["found"][0]["uris"] == ["/c/en/cat"]
