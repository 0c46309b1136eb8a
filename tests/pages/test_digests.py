"""A payload that was kept is never taken for a new one."""

from __future__ import annotations

from tools.pages.digests import Digests


def test_what_was_added_may_be_there_and_little_else() -> None:
    digests = Digests()
    assert digests.may_have("sha1:0")  # nobody has said that nothing was there before
    digests.are_all = True
    digests.add(f"sha1:{number}" for number in range(20_000))
    assert all(digests.may_have(f"sha1:{number}") for number in range(20_000))
    strangers = sum(digests.may_have(f"sha1:new {number}") for number in range(20_000))
    assert strangers < 200  # 0.24 of a hundred
