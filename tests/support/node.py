"""Receiving nodes on the loopback: OpenSSH itself, and the same in this process by paramiko.

Promise: they read no key, setting or name of this computer's own server, and leave no process.
Limit: a node under root sees what was mounted when it started; `stop` and `start` show it the rest.
"""

from __future__ import annotations

import io
import json
import logging
import os
import pwd
import shlex
import shutil
import signal
import subprocess
from abc import ABC, abstractmethod
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Self

from tests.faults.injection import injected, wait_until
from tests.support.needs import missing, program
from tests.support.ports import free_port
from tests.support.worlds.sftp import SftpServer, Shelf

HOST = "127.0.0.1"
IN_A_CHROOT = "/srv"
PATIENCE_S = 60.0

# Where root may log in though locked, sshd finds its empty folder, and every folder above the
# chroot belongs to root: all in a view of the disk that only this server has.
OWN_VIEW = """
mount -t tmpfs -o mode=755 sheaf-node /run
mkdir -p /run/sshd /run/node/srv
mount --rbind "$1" /run/node/srv
(umask 077 && sed 's/^root:[^:]*:/root:*:/' /etc/shadow >/run/shadow)
mount --bind /run/shadow /etc/shadow
shift
exec "$@"
"""
CHROOT = "/run/node"

SETTINGS = """
ListenAddress {host}:{port}
HostKey {host_key}
AuthorizedKeysFile {keys}
PidFile none
LogLevel VERBOSE
StrictModes no
UsePAM no
UseDNS no
PermitRootLogin yes
PermitUserRC no
AuthenticationMethods publickey
MaxStartups 100
X11Forwarding no
Subsystem sftp {sftp_server}
"""
LISTENING = "Server listening"
RESTRICTED = "ForceCommand internal-sftp\nDisableForwarding yes\n"


class Node(ABC):
    """Where batches arrive. In `with` it is there; it can be away and come back."""

    def __init__(self, tmp: Path, remote: str | None, user: str, port: int | None) -> None:
        self.folder = tmp / "srv"
        for name in ("raw", "m"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        self.remote = remote or str(self.folder)
        self.host, self.port, self.user = HOST, port or free_port(), user
        self.key_file = new_key(tmp / "client_key")
        self.host_key = new_key(tmp / "host_key")
        self.known_hosts = tmp / "known_hosts"
        self.be_known_at(self.port)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self.stop()
        if kind is not None:
            print(self.log())

    @abstractmethod
    def start(self) -> None: ...

    @abstractmethod
    def stop(self) -> None:
        """It hangs up on everybody and is away; twice does no harm."""

    @abstractmethod
    def log(self) -> str: ...

    def settings(self, **changes: object) -> str:
        """A [transport] table; what is None is left out. A wire's port is known at once."""
        table = {
            "host": self.host,
            "port": self.port,
            "user": self.user,
            "key_file": str(self.key_file),
            "known_hosts": str(self.known_hosts),
            "folder": self.remote,
        } | changes
        if isinstance(table["port"], int):
            self.be_known_at(table["port"])
        lines = [f"{key} = {toml(value)}\n" for key, value in table.items() if value is not None]
        return "[transport]\n" + "".join(lines)

    def be_known_at(self, port: int) -> None:
        """Its host key is right at this port too."""
        kind, key, *_ = public(self.host_key).split()
        line = f"[{self.host}]:{port} {kind} {key}\n"
        known = self.known_hosts.read_text() if self.known_hosts.exists() else ""
        if line not in known:
            self.known_hosts.write_text(known + line)


def toml(value: object) -> str:
    return json.dumps(str(value) if isinstance(value, Path) else value)


def new_key(file: Path) -> Path:
    """A private key, 0600, with its public one beside it."""
    command = [program("ssh-keygen", "openssh-client"), "-q", "-t", "ed25519", "-N", ""]
    subprocess.run([*command, "-f", str(file)], check=True, stdin=subprocess.DEVNULL)
    return file


def public(private: Path) -> str:
    return private.with_name(f"{private.name}.pub").read_text()


# --- OpenSSH -----------------------------------------------------------------------------------


class SshdNode(Node):
    """With a shell it runs commands and forwards; without it there is SFTP alone, in a chroot if
    root starts it. Whoever runs the tests is the user."""

    def __init__(
        self,
        tmp: Path,
        shell: bool = True,
        port: int | None = None,
        sftp_server: list[str] | None = None,
    ) -> None:
        is_root = os.getuid() == 0
        has_chroot = is_root and not shell
        user = pwd.getpwuid(os.getuid()).pw_name
        super().__init__(tmp, IN_A_CHROOT if has_chroot else None, user, port)
        text = SETTINGS.format(
            host=self.host,
            port=self.port,
            host_key=self.host_key,
            keys=f"{self.key_file}.pub",
            sftp_server=shlex.join(sftp_server or ["internal-sftp"]),
        )
        text += "" if shell else RESTRICTED
        text += f"ChrootDirectory {CHROOT}\n" if has_chroot else ""
        self._config, self._log = tmp / "sshd_config", tmp / "sshd.log"
        self._config.write_text(text)
        self._log.touch()
        self._view = own_view(self.folder) if is_root else []
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        files = ["-f", str(self._config), "-E", str(self._log)]
        command = [*self._view, sshd(), *patience(), "-D", *files]
        before = self.log().count(LISTENING)
        with self._log.open("a") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        with suppress(AssertionError):
            wait_until(lambda: self._listens(before) or not self._is_running, seconds=PATIENCE_S)
        if not self._is_running and "unshare failed" in self.log():
            missing(f"sshd as root needs a view of the disk of its own: {self.log()}")
        if not self._listens(before):
            self.stop()
            raise AssertionError(f"sshd does not start: {self.log()}")

    def stop(self) -> None:
        if self._process is not None:
            for pid in frozen(self._process.pid):
                with suppress(ProcessLookupError):  # it ended by itself meanwhile
                    os.kill(pid, signal.SIGKILL)
            self._process.wait(PATIENCE_S)
            self._process = None

    def log(self) -> str:
        return self._log.read_text(errors="replace")

    def _listens(self, before: int) -> bool:
        """It has said so once more than before."""
        return self.log().count(LISTENING) > before

    @property
    def _is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None


def own_view(folder: Path) -> list[str]:
    unshare = program("unshare", "util-linux")
    return [unshare, "--mount", "sh", "-ec", OWN_VIEW, "sh", str(folder)]


def sshd() -> str:
    """Its path: it wants to be called by that, and few have it in their PATH."""
    folders = os.pathsep.join([os.environ["PATH"], "/usr/sbin", "/usr/local/sbin"])
    found = shutil.which("sshd", path=folders)
    return found or missing("sshd is not installed: apt-get install openssh-server")


@cache
def patience() -> tuple[str, ...]:
    """Since 9.8 it turns away addresses that failed to log in, and here all have the same one."""
    flags = ("-o", "PerSourcePenalties=no")
    done = subprocess.run([sshd(), "-G", "-f", "/dev/null", *flags], capture_output=True)
    return () if done.returncode else flags


def failing_sftp(what: str) -> list[str]:
    """An sftp-server to which `lseek:error=EIO:when=4` happens. It seeks before each read and write
    of its session, and once when it looks up its user: so that is the third of them."""
    for folder in ("/usr/lib/openssh", "/usr/libexec/openssh", "/usr/lib/ssh"):
        if (file := Path(folder, "sftp-server")).exists():
            return [*injected(what), str(file)]
    return missing("sftp-server is not installed: apt-get install openssh-sftp-server")


def frozen(pid: int) -> list[int]:
    """A process and all that come from it. They are stopped, so that no new ones come."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGSTOP)
        return [pid, *(each for child in children(pid) for each in frozen(child))]
    return []


def children(parent: int) -> list[int]:
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended meanwhile
            pid, _, rest = stat.read_text(errors="replace").partition(" (")
            if int(rest.rpartition(") ")[2].split()[1]) == parent:
                found.append(int(pid))
    return found


# --- paramiko ----------------------------------------------------------------------------------


class ParamikoNode(Node, Shelf):
    """The same contract by another server, which knows none of OpenSSH's extensions but
    posix_rename. Its log is that of paramiko."""

    def __init__(
        self,
        tmp: Path,
        shell: bool = True,
        port: int | None = None,
        refuse_writes_after: int | None = None,
        refusals: int | None = None,
    ) -> None:
        super().__init__(tmp, IN_A_CHROOT, "node", port)
        self.runs_sha256sum = shell
        self.refuse_writes_after, self.refusals = refuse_writes_after, refusals
        self._lines = io.StringIO()
        self._logger = logging.getLogger(f"tests.support.node.{self.port}")
        self._logger.addHandler(logging.StreamHandler(self._lines))
        self._logger.propagate = False
        self._logger.setLevel(logging.INFO)
        self._server: SftpServer | None = None

    def start(self) -> None:
        keys = (self.key_file, self.host_key)
        self._server = SftpServer(self.port, self, self.user, *keys, self._logger.name)

    def stop(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None

    def log(self) -> str:
        return self._lines.getvalue()
