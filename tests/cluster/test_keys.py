"""Who is let in: keys of this cluster, for as long as they are good, and nobody else."""

from __future__ import annotations

import asyncio
import os
import ssl
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509

from tests.cluster.calling import PATIENCE_S, calling, settled
from tests.support.command import Here
from tests.support.nats_server import NatsServer, running_nats
from tools.cluster import greeting
from tools.cluster.certificates import Authority
from tools.cluster.greeting import NoAnswer, server_version
from tools.cluster.join_file import Join, read_join
from tools.cluster.key_folder import CA_KEY, add_nodes, make_folder, remove_nodes
from tools.cluster.node_list import KnownNode, read_list, write_list
from tools.cluster.running_server import reload_server, server_pid
from tools.cluster.server_config import CA_FILE, CONFIG_FILE, PID_FILE, config_text
from tools.errors import AlreadyRunning, StateDamaged, UsageError


def is_let_in(join: Join) -> bool:
    try:
        server_version(join, PATIENCE_S)
    except NoAnswer:
        return False
    return True


def authority_of(server: NatsServer) -> Authority:
    certificate, key = (server.folder / name for name in (CA_FILE, CA_KEY))
    return Authority.of(certificate.read_text(), key.read_text())


def with_client(join: Join, authority: Authority, ends: datetime | None = None) -> tuple[Join, str]:
    """The same with another key by this authority, and its fingerprint."""
    made = authority.for_client(join.name, ends)
    return join._replace(certificate=made.certificate, key=made.key), made.fingerprint


def let_know(server: NatsServer, name: str, fingerprint: str) -> None:
    """As if this key had been added."""
    known = read_list(server.folder)
    node = KnownNode(name, "2026-01-01T00:00:00+00:00", fingerprint)
    known = known._replace(nodes=(*known.nodes, node))
    write_list(server.folder, known)
    (server.folder / CONFIG_FILE).write_text(config_text(known))
    assert reload_server(server.folder)


# --- strangers -------------------------------------------------------------------------------


def test_every_key_of_the_cluster_is_let_in(any_nats_server: NatsServer) -> None:
    for join in (any_nats_server.coordinator, *map(any_nats_server.join, ("alpha", "beta"))):
        assert is_let_in(join)


def test_a_stranger_without_a_certificate_is_turned_away(
    any_nats_server: NatsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    join = any_nats_server.join("alpha")
    without = ssl.create_default_context(cadata=join.ca)
    monkeypatch.setattr(greeting, "tls_of", lambda join: without)
    assert not is_let_in(join)


def test_a_certificate_of_another_authority_is_refused(any_nats_server: NatsServer) -> None:
    """Even if it names a key that is known."""
    stranger, fingerprint = with_client(any_nats_server.join("alpha"), Authority.new())
    let_know(any_nats_server, "gamma", fingerprint)
    assert not is_let_in(stranger)


def test_a_key_that_nobody_has_added_is_refused(any_nats_server: NatsServer) -> None:
    stranger, _ = with_client(any_nats_server.join("alpha"), authority_of(any_nats_server))
    assert not is_let_in(stranger)


@pytest.mark.parametrize(("days", "is_good"), [(-1, False), (1, True)])
def test_a_certificate_is_good_until_its_end(
    any_nats_server: NatsServer, days: int, is_good: bool
) -> None:
    ends = datetime.now(UTC) + timedelta(days=days)
    join = any_nats_server.join("alpha")._replace(name="gamma")
    join, fingerprint = with_client(join, authority_of(any_nats_server), ends)
    let_know(any_nats_server, "gamma", fingerprint)
    assert is_let_in(join) is is_good


def test_the_servers_own_certificate_lets_nobody_in(any_nats_server: NatsServer) -> None:
    certificate, key = (any_nats_server.folder / f"server.{end}" for end in ("pem", "key"))
    join = any_nats_server.join("alpha")
    assert not is_let_in(join._replace(certificate=certificate.read_text(), key=key.read_text()))


def test_a_server_of_another_authority_is_not_believed(any_nats_server: NatsServer) -> None:
    join = any_nats_server.join("alpha")._replace(ca=Authority.new().certificate)
    with pytest.raises(NoAnswer, match="certificate verify failed"):
        server_version(join, PATIENCE_S)


def test_a_server_by_another_name_is_not_believed(
    any_nats_server: NatsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its certificate names localhost and 127.0.0.1, and no other loopback address."""
    any_nats_server.stop()
    config = any_nats_server.folder / CONFIG_FILE
    config.write_text(config.read_text().replace('"127.0.0.1:', '"0.0.0.0:'))
    any_nats_server.start()
    join = any_nats_server.join("alpha")
    assert is_let_in(join._replace(address="127.0.0.1"))
    with pytest.raises(NoAnswer, match="certificate verify failed"):
        server_version(join._replace(address="127.0.0.2"), PATIENCE_S)


# --- nodes come and go -----------------------------------------------------------------------


def test_a_node_is_added_to_a_server_that_runs_and_nobody_is_disturbed(
    any_nats_server: NatsServer,
) -> None:
    async def scene() -> None:
        server = any_nats_server
        async with calling(server.coordinator) as own, calling(server.join("alpha")) as alpha:
            await asyncio.to_thread(server.add, "gamma", "delta")
            async with calling(server.join("gamma")) as gamma:
                heard = await own.client.subscribe("sheaf.from.gamma.x")
                await settled(own.client)
                asking = asyncio.create_task(gamma.client.request("sheaf.from.gamma.x", b"", 20))
                await (await heard.next_msg(PATIENCE_S)).respond(b"welcome")
                assert (await asking).data == b"welcome"
            await settled(alpha.client)
            assert (own.refusals, alpha.refusals) == ([], [])

    asyncio.run(scene())


def test_a_removed_node_is_cut_off_and_its_key_refused(any_nats_server: NatsServer) -> None:
    async def scene() -> None:
        server = any_nats_server
        join = server.join("alpha")
        async with calling(join) as alpha, calling(server.join("beta")) as beta:
            await asyncio.to_thread(server.remove, "alpha")
            await asyncio.wait_for(alpha.closed.wait(), PATIENCE_S)
            assert not is_let_in(join)
            await settled(beta.client)
            assert beta.refusals == []
        server.restart()
        assert not is_let_in(join) and is_let_in(server.join("beta"))

    asyncio.run(scene())


def test_a_name_given_again_does_not_let_the_old_key_in(any_nats_server: NatsServer) -> None:
    old = any_nats_server.join("alpha")
    any_nats_server.remove("alpha")
    any_nats_server.add("alpha")
    assert is_let_in(any_nats_server.join("alpha")) and not is_let_in(old)


def test_a_server_that_was_killed_comes_back_with_the_same_keys(
    any_nats_server: NatsServer,
) -> None:
    any_nats_server.restart()
    assert is_let_in(any_nats_server.join("alpha"))


def test_a_number_left_by_a_killed_server_is_nobodys(nats_server: NatsServer) -> None:
    nats_server.kill()
    assert (nats_server.folder / PID_FILE).exists() and server_pid(nats_server.folder) is None
    (nats_server.folder / PID_FILE).write_text(str(os.getpid()))
    assert not reload_server(nats_server.folder), "it would end the tests"


def test_the_server_of_another_folder_is_not_ours(nats_server: NatsServer, tmp_path: Path) -> None:
    """As the system may have given the number of a killed one again."""
    with running_nats(tmp_path / "other") as other:
        pid = str(server_pid(other.folder))
        nats_server.kill()
        (nats_server.folder / PID_FILE).write_text(pid)
        assert server_pid(nats_server.folder) is None


def test_a_configuration_that_the_server_refuses_is_told(nats_server: NatsServer) -> None:
    (nats_server.folder / CONFIG_FILE).write_text("listen {")
    with pytest.raises(Exception, match="did not take the new"):
        reload_server(nats_server.folder)


# --- the folder ------------------------------------------------------------------------------


def test_only_its_owner_can_read_the_folder(tmp_path: Path) -> None:
    os.umask(0)
    folder = tmp_path / "cluster"
    make_folder(folder, "example.org", 4222)
    add_nodes(folder, ["alpha"], tmp_path)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    for file in (*folder.iterdir(), tmp_path / "alpha.sheaf"):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file
    assert [each.name for each in tmp_path.iterdir() if each.name.startswith(".")] == []


@pytest.mark.parametrize("address", ["example.org", "10.0.0.7", "fd00::7"])
def test_certificates_last_and_name_what_they_are_for(tmp_path: Path, address: str) -> None:
    make_folder(tmp_path / "cluster", address, 4222)
    (file,) = add_nodes(tmp_path / "cluster", ["alpha"])
    join = read_join(file)
    assert (join.name, join.address, join.port) == ("alpha", address, 4222)
    ca, server, node = (
        x509.load_pem_x509_certificate(text.encode())
        for text in (join.ca, (tmp_path / "cluster/server.pem").read_text(), join.certificate)
    )
    for each in (server, node):
        each.verify_directly_issued_by(ca)
        assert each.not_valid_after_utc - datetime.now(UTC) > timedelta(days=3650)
    assert ca.not_valid_after_utc - datetime.now(UTC) > timedelta(days=7300)
    names = server.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert {str(name.value) for name in names} == {address, "localhost", "127.0.0.1"}


def test_a_second_init_is_refused_and_changes_nothing(here: Here) -> None:
    make_folder(Path("cluster"), "localhost", 4222)
    before = {file: file.read_bytes() for file in Path("cluster").iterdir()}
    told = here("cluster", "init", "--address", "localhost")
    assert told.startswith("2 sheaf: cluster holds a cluster already") and "cluster add" in told
    assert {file: file.read_bytes() for file in Path("cluster").iterdir()} == before


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("init", "--address"),
        ("init --address a_b", "neither a host name nor"),
        ("init --address localhost --port 70000", "--port must be"),
        ("add alpha", "there is no cluster in cluster yet"),
        ("remove alpha", "there is no cluster in cluster yet"),
        ("add", "cluster add NAME"),
        ("remove", "cluster remove NAME"),
        ("", "cluster init, cluster add, cluster remove"),
    ],
)
def test_what_is_wrong_is_one_sentence(here: Here, words: str, sentence: str) -> None:
    told = here("cluster", *words.split())
    assert told.startswith("2 ") and sentence in told
    assert not Path("cluster").exists()


@pytest.mark.parametrize(
    "name", ["coordinator", "-a", "A", "a.b", "a/b", "../a", "a b", 'a"', "é", "a" * 33, "", "a\n"]
)
def test_a_name_that_could_mean_something_else_is_refused(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "cluster"
    make_folder(folder, "localhost", 4222)
    before = (folder / CONFIG_FILE).read_bytes()
    with pytest.raises(UsageError, match="name"):
        add_nodes(folder, ["fine", name])
    assert (folder / CONFIG_FILE).read_bytes() == before
    assert not (folder / "fine.sheaf").exists()


def test_names_are_given_once(tmp_path: Path) -> None:
    folder = tmp_path / "cluster"
    make_folder(folder, "localhost", 4222)
    add_nodes(folder, ["alpha"])
    with pytest.raises(UsageError, match="alpha has a key already"):
        add_nodes(folder, ["alpha"], tmp_path)
    with pytest.raises(UsageError, match="twice"):
        add_nodes(folder, ["beta", "beta"])
    (tmp_path / "beta.sheaf").write_text("somebody's key")
    with pytest.raises(UsageError, match="move it away"):
        add_nodes(folder, ["beta"], tmp_path)
    with pytest.raises(UsageError, match="no folder"):
        add_nodes(folder, ["beta"], tmp_path / "nowhere")
    assert read_list(folder).names == ["alpha"]


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "letter").write_text("dear")
    with pytest.raises(UsageError, match="not empty"):
        make_folder(tmp_path, "localhost", 4222)
    assert [each.name for each in tmp_path.iterdir()] == ["letter"]


def test_two_commands_at_once_do_not_mix(tmp_path: Path) -> None:
    from tools.base.locks import locked

    folder = tmp_path / "cluster"
    make_folder(folder, "localhost", 4222)
    with locked(folder / "lock", "it"), pytest.raises(AlreadyRunning, match="try again"):
        add_nodes(folder, ["alpha"])


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": 2}', "null", "[" * 100_000])
def test_a_damaged_list_of_nodes_is_never_made_anew(tmp_path: Path, text: str) -> None:
    folder = tmp_path / "cluster"
    make_folder(folder, "localhost", 4222)
    (folder / "nodes.json").write_text(text)
    with pytest.raises(StateDamaged, match="from a copy"):
        add_nodes(folder, ["alpha"])
    with pytest.raises(StateDamaged):
        remove_nodes(folder, ["alpha"])
    assert (folder / "nodes.json").read_text() == text


def test_the_commands_do_it_with_a_server_that_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from main import main

    monkeypatch.chdir(tmp_path)
    with running_nats(tmp_path / "cluster", nodes=()):
        assert main(["cluster", "add", "lab-1", "lab-2", "--to", "."]) == 0
        assert "lets them in now" in capsys.readouterr().out
        join = read_join(Path("lab-1.sheaf"))
        assert is_let_in(join)
        assert main(["cluster", "remove", "lab-1"]) == 0
        assert "cut off" in capsys.readouterr().out
        assert not is_let_in(join) and is_let_in(read_join(Path("lab-2.sheaf")))
