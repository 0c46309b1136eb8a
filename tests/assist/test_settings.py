"""Addresses for notices are secrets."""

from __future__ import annotations

import pytest

from tests.support.toml import loaded, secret_file
from tools.assist.settings import NOTICES_VARIABLE
from tools.errors import UsageError

pytestmark = pytest.mark.usefixtures("no_settings")


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
