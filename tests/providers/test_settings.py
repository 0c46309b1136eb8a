"""Settings of media, and the providers' keys."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.toml import written
from tools.errors import UsageError
from tools.settings import load

pytestmark = pytest.mark.usefixtures("no_settings")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("ground = 'everything'", "extend.ground must be one of concepts, relations, both"),
        ("images = -1", "extend.images must be 0 or more"),
        ("max_pixels = 0", "extend.max_pixels must be more than 0"),
        ("providers = ['comons']", "unknown provider comons; did you mean commons?"),
        ("licences = ['by-as']", "unknown licence by-as; did you mean by-sa?"),
        ("servers = {commons = 'commons.org'}", "extend.servers.commons must be like http://host"),
        ("servers = {wiki = 'http://a'}", "unknown provider wiki; known: commons"),
        ("servers = ['http://a']", "extend.servers must be a table of texts"),
        (
            "keys = {giphy = 'hunter2'}",
            "unknown setting extend.keys; did you mean extend.keys_file",
        ),
    ],
)
def test_mistakes_about_media_are_named(text: str, sentence: str) -> None:
    with pytest.raises(UsageError) as caught:
        load(written(f"[extend]\n{text}"), {})
    assert str(caught.value).startswith(sentence)


def test_keys_come_from_the_environment_and_from_a_file_for_their_owner_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = tmp_path / "keys.toml"
    keys.write_text('freesound = "hunter2"\nflickr = "from the file"\n')
    keys.chmod(0o600)
    monkeypatch.setenv("SHEAF_FLICKR_KEY", " from the environment ")
    settings = load(written("[extend]\nkeys_file = 'keys.toml'"), {})
    assert settings.extend.keys == {"freesound": "hunter2", "flickr": "from the environment"}
    assert "hunter2" not in repr(settings)
    keys.chmod(0o640)
    with pytest.raises(UsageError, match="others can read it: chmod 600"):
        load(written("[extend]\nkeys_file = 'keys.toml'"), {})


@pytest.mark.parametrize("text", ["hunter2", "commons = 'hunter2'", "giphy = 2", "giphy = ['a']"])
def test_a_file_of_keys_that_cannot_be_read_is_not_shown(tmp_path: Path, text: str) -> None:
    (tmp_path / "keys.toml").write_text(text)
    (tmp_path / "keys.toml").chmod(0o600)
    with pytest.raises(UsageError, match="must have lines like freesound") as caught:
        load(written("[extend]\nkeys_file = 'keys.toml'"), {})
    assert "hunter2" not in str(caught.value)
