"""docs/shipping.md, followed word by word: on one computer that is both the VPS and the node."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest

from tests.faults.injection import wait_until
from tests.support.command import ROOT
from tests.support.machine import SYSTEMCTL_LOG, Machine
from tests.support.node import sshd
from tools.commands.parsing import parsed
from tools.shipping.settings import TransportSettings

GUIDE = (ROOT / "docs/shipping.md").read_text(encoding="utf-8")
OPERATING = (ROOT / "docs/operating.md").read_text(encoding="utf-8")
NOT_HERE = ("apt-get", "git ", "python3 -m venv", "/opt/sheaf/.venv/bin/pip")  # all that is there
CONFIG = "/var/lib/sheaf/sheaf.toml"
LOGIN = (
    "-o BatchMode=yes -o IdentityFile=/var/lib/sheaf/transport-key"
    " -o UserKnownHostsFile=/var/lib/sheaf/known_hosts sheaf-sender@node.example.org"
)


def blocks(title: str, language: str = "", document: str = GUIDE) -> list[str]:
    """Those under a heading, up to the next one."""
    _, found, text = document.partition(f"# {title}\n")
    assert found, f"no heading {title!r}"
    text = re.split(r"^#+ ", text, maxsplit=1, flags=re.MULTILINE)[0]
    return [
        block
        for name, block in re.findall(r"^```(\w*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
        if name == language
    ]


# --- the steps ---------------------------------------------------------------------------------


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    """Installed as docs/operating.md says, and set up as the guide says, but for the settings."""
    sshd()
    with Machine(tmp_path / "machine") as machine:
        machine.write("/usr/local/sbin/apt-get", "#!/bin/sh\n", 0o755)
        machine.write("/usr/local/sbin/scp", '#!/bin/sh\ncp ${1#*:} "$2"\n', 0o755)
        machine.run("echo 127.0.0.1 node.example.org >>/etc/hosts; ssh-keygen -A")
        installing = blocks("Installing", document=OPERATING)[0].splitlines(keepends=True)
        machine.run("".join(line for line in installing if not line.startswith(NOT_HERE)))
        follow(machine)
        yield machine


def follow(machine: Machine) -> None:
    [make_key] = blocks("1. A key, on the VPS")
    [make_users] = blocks("2. Users and folders, on the node")
    [let_in] = blocks("3. SFTP and nothing else, on the node")
    [install] = blocks("4. receive.py, on the node")
    [show_key, know_key] = blocks("5. The node's host key")

    public_key = machine.run(make_key)
    machine.run(make_users)
    machine.run(let_in.replace("PUBLIC-KEY", public_key.strip()))
    machine.run(install)
    fingerprint, host_key = machine.run(show_key).splitlines()
    known = machine.run(know_key.replace("HOST-KEY", host_key))
    assert known.split()[1] == fingerprint.split()[1]


def set_transport(machine: Machine, **changes: str) -> None:
    """The guide's lines, under the heading that is there."""
    [table] = blocks("6. Settings, on the VPS", "toml")
    for key, value in changes.items():
        table = re.sub(rf"^{key} = .*\n", "", table, flags=re.MULTILINE) + f'{key} = "{value}"\n'
    before = machine.run(f"cat {CONFIG}")
    assert before.count("\n[transport]\n") == 1
    machine.run(f"cat >{CONFIG}", before.replace("[transport]\n", table))


def receive(machine: Machine) -> None:
    """As systemd would run it."""
    unit = machine.run("cat /etc/systemd/system/sheaf-receive.service")
    user, secret, command = (
        re.findall(rf"^{key}=(.*)$", unit, re.MULTILINE)[0]
        for key in ("User", "EnvironmentFile", "ExecStart")
    )
    secret = secret.removeprefix("-")
    machine.run(
        f"if [ -e {secret} ]; then set -a; . {secret}; fi; exec runuser -u {user} -- {command}"
    )


def media(machine: Machine, folder: str) -> set[str]:
    """Hash and path of each file below it."""
    numbered = r"-type f -regex '.*/[0-9]+\.[a-z0-9]+'"
    said = machine.run(f"cd {folder} && find . {numbered} -exec sha256sum {{}} +")
    return set(said.splitlines())


def test_nothing_of_this_computer_can_be_changed_from_there(machine: Machine) -> None:
    own = ("overlay", "tmpfs", "proc", "devtmpfs", "devpts", "mqueue")
    mounts = [line.split() for line in machine.run("cat /proc/mounts").splitlines()]
    others = [each for each in mounts if each[2] not in own and "ro" not in each[3].split(",")]
    assert mounts and others == []


FORBIDDEN = (
    "put /etc/hosts m/1",
    "put /etc/hosts received/2.json",
    "put /etc/hosts 1",
    "rm received/1.json",
    "rmdir m",
    "rename m raw/m",
    "ls m",
    "ls quarantine",
    "get /etc/passwd",
    "ln -s /etc/passwd raw/1/3",
    "ln received/1.json raw/1/3",
)


def test_whoever_has_the_key_may_write_into_raw_and_read_receipts(machine: Machine) -> None:
    machine.run("install -o sheaf-node -m 644 /etc/hosts /srv/sheaf/received/1.json")
    allowed = "mkdir raw/1\nput /etc/hosts raw/1/2\nget received/1.json /tmp/1.json\n"
    machine.run(f"sftp -q -b - {LOGIN}", allowed)
    everything = "find /srv/sheaf /tmp -printf '%p %i %m %s\\n' | sort"
    before = machine.run(everything)
    lines = "".join(f"-{line}\n" for line in FORBIDDEN)  # with a dash it goes on after an error
    asked = machine.start(f"cd /tmp && sftp -q -b - {LOGIN}")
    _, errors = asked.communicate(lines, 60)
    assert len(errors.splitlines()) >= len(FORBIDDEN), errors
    assert machine.run(everything) == before
    machine.run("runuser -u sheaf-node -- rm -r /srv/sheaf/raw/1")


def test_whoever_has_the_key_gets_nothing_but_sftp(machine: Machine) -> None:
    said = machine.start(f"ssh {LOGIN} 'echo hello; touch /raw/1'").communicate("", 60)[0]
    assert "sftp connections only" in said
    assert machine.run("ls /srv/sheaf/raw") == ""
    assert "prohibited" in machine.fails(f"ssh -W 127.0.0.1:22 {LOGIN}")


def test_others_log_in_as_ever(machine: Machine) -> None:
    def ruled(user: str) -> str:
        return machine.run(f"sshd -T -C user={user},host=x,addr=192.0.2.1")

    with_us = ruled("root")
    assert "chrootdirectory /srv/sheaf\n" in ruled("sheaf-sender")
    machine.run("rm /etc/ssh/sshd_config.d/sheaf.conf")
    assert ruled("root") == with_us


def test_media_arrive_and_are_erased_after_the_receipt(machine: Machine) -> None:
    machine.run("sheaf main.py --sample --limit 1 -q")
    harvested = media(machine, "/var/lib/sheaf/m")
    assert len(harvested) > 10
    set_transport(machine)
    on_vps, on_node = blocks("6. Settings, on the VPS")
    dry_run, _, now, list_ = (line.partition("#")[0] for line in on_vps.splitlines())

    assert "the receipts of receive.py" in machine.run(dry_run)
    shipping = machine.start(now)
    sent = "find /srv/sheaf/raw -name manifest.json"
    wait_until(lambda: machine.run(sent) != "" or shipping.poll() is not None, "a manifest")
    assert hashes(media(machine, "/var/lib/sheaf/m")) == hashes(harvested), "before any proof"
    receive(machine)
    _, errors = shipping.communicate("", 60)
    assert shipping.returncode == 0, errors

    assert media(machine, "/srv/sheaf/m") == harvested
    assert media(machine, "/var/lib/sheaf/m") == set()
    assert machine.run("ls -A /srv/sheaf/raw") == ""
    assert "arrived" in machine.run(list_)
    assert "enable --now sheaf-receive.timer\n" in machine.run(f"cat {SYSTEMCTL_LOG}")
    assert f"{len(harvested)} files" in machine.run(on_node.splitlines()[-1])


def hashes(listed: set[str]) -> set[str]:
    return {line.split()[0] for line in listed}


def test_a_node_with_a_shell_and_a_secret(machine: Machine) -> None:
    """The harvest itself ships its media at its end, and has no receipt to wait for."""
    let_in, make_secret, know_secret = blocks("Other ways")
    public_key = machine.run("cat /var/lib/sheaf/transport-key.pub").strip()
    machine.run(let_in.replace("PUBLIC-KEY", public_key))
    secret = machine.run(make_secret).strip()
    machine.run(know_secret.replace("=SECRET", f"={secret}"))
    set_transport(machine, folder="/srv/sheaf", secret_file="transport-secret")
    assert "its own hash" in machine.run("sheaf main.py ship --dry-run")

    machine.run("sheaf main.py --sample --limit 1 -q")
    assert media(machine, "/var/lib/sheaf/m") == set()
    assert "hmac" in machine.run("ls /srv/sheaf/raw/*")
    receive(machine)
    assert len(media(machine, "/srv/sheaf/m")) > 10
    assert machine.run("find /srv/sheaf/raw /srv/sheaf/quarantine -mindepth 1") == ""
    assert "hmac" in machine.run("ls /srv/sheaf/received")


TREES = ("oak", "elm")
OTHERS = (
    "put /etc/hosts raw/elm/1",
    "put /etc/hosts raw/1",
    "put /etc/hosts raw/oak/../elm/1",
    "mkdir raw/ash",
    "rename raw/oak raw/ash",
    "rename raw/elm/1 raw/oak/1",
    "ls raw",
    "ls raw/elm",
    "get received/elm/1.json /tmp/1",
    "put /etc/hosts received/oak/2.json",
    "get secrets/oak /tmp/2",
    "ls m",
    "ln -s ../elm raw/oak/elm",
    "ln received/oak/1.json raw/oak/2",
)


def set_senders(machine: Machine) -> dict[str, str]:
    """As the guide says, two of them with the key of this machine: their secrets."""
    once, each = blocks("Several senders")
    machine.run(once)
    public_key = machine.run("cat /var/lib/sheaf/transport-key.pub").strip()
    each = each.replace("PUBLIC-KEY", public_key)
    return {name: machine.run(each.replace("oak", name)).strip() for name in TREES}


def test_of_two_senders_none_can_touch_what_is_the_others(machine: Machine) -> None:
    set_senders(machine)
    for name in TREES:
        place = f"/srv/sheaf/received/{name}/1.json"
        machine.run(f"runuser -u sheaf-node -- install -m 644 /etc/hosts {place}")
    everything = "find /srv/sheaf /tmp -printf '%p %i %m %s\\n' | sort"
    allowed = "put /etc/hosts raw/NAME/1\nget received/NAME/1.json /tmp/NAME.json\n"
    for name in TREES:
        login = LOGIN.replace("sheaf-sender@", f"sheaf-{name}@")
        machine.run(f"sftp -q -b - {login}", allowed.replace("NAME", name))
    before = machine.run(everything)
    lines = "".join(f"-{line}\n" for line in OTHERS)
    asked = machine.start(f"cd /tmp && sftp -q -b - {LOGIN.replace('-sender@', '-oak@')}")
    _, errors = asked.communicate(lines, 60)
    assert len(errors.splitlines()) >= len(OTHERS), errors
    assert machine.run(everything) == before
    machine.fails(f"sftp -q -b - {LOGIN}", "ls\n")  # the account of one that is alone


def test_two_senders_ship_into_one_m(machine: Machine) -> None:
    secrets = set_senders(machine)
    [table] = blocks("Several senders", "toml")
    own = dict(re.findall(r'(\w+) = "(.*)"', table))
    set_transport(machine, **own, receipt_s="0")
    machine.run(f"sed -i 's/^receipt_s.*/receipt_s = 0/' {CONFIG}")
    settings, harvested = machine.run(f"cat {CONFIG}"), set()
    for name in TREES:
        machine.run(f"cat >{CONFIG}", settings.replace("oak", name))
        give = "install -o sheaf -g sheaf -m 600 /dev/stdin /var/lib/sheaf/transport-secret"
        machine.run(give, secrets[name])
        machine.run("sheaf main.py --sample --limit 1 -q --fresh")
        receive(machine)
        assert "arrived" in machine.run("sheaf main.py ship --now; sheaf main.py ship --list")
        assert media(machine, "/var/lib/sheaf/m") == set()
        harvested |= media(machine, "/srv/sheaf/m")
        assert "hmac" in machine.run(f"ls /srv/sheaf/received/{name}")
    assert len(harvested) > 10
    assert machine.run("find /srv/sheaf/raw /srv/sheaf/quarantine -mindepth 2") == ""


# --- what else it says -------------------------------------------------------------------------


@pytest.mark.parametrize("command", sorted(set(re.findall(r"sheaf main\.py ([^`\n#]*)", GUIDE))))
def test_every_command_is_understood(command: str) -> None:
    parsed(shlex.split(command))


def test_every_setting_it_names_exists() -> None:
    named = re.findall(r"`(\w+) = \"", GUIDE)
    assert {"folder", "jump", "proxy", "secret_file"} <= set(named)
    assert set(named) <= {each.name for each in fields(TransportSettings)}
