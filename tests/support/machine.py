"""A computer to try the documents on: a copy of this one that is gone afterwards.

Promise: its files, users, processes and network are its own; nothing done there is seen here.
Limit: it takes root, or sudo without a password. Devices are the same ones. There is no systemd in
it: `systemctl` notes what it was asked for, and starts and reloads sshd as ssh.service would.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Self

from tests.support.command import ROOT
from tests.support.needs import missing, program

PATIENCE_S = 60.0
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
SYSTEMCTL_LOG = "/run/systemctl.log"

# What is written lies in memory. Python may live in a home, which is closed to other users and may
# be on another disk. When the old root is gone it tells its number as it is known outside: who came
# in earlier would be root on this computer. It ends with its input.
BEGIN = """
read -r pid rest </proc/self/stat
mount -t tmpfs -o mode=755 machine "$1"
cd "$1"
mkdir new work root
mount -t overlay machine -o lowerdir=/,upperdir=new,workdir=work root
cd root
if [ ! -e ".$4" ]; then mkdir -p ".$4" && mount --bind -o ro "$4" ".$4"; fi
above=$4
while above=$(dirname "$above") && [ "$above" != / ]; do chmod a+x ".$above"; done
mount -t proc proc proc
mount --rbind /dev dev
mount -t tmpfs -o mode=755 run run
mount -t tmpfs -o mode=1777 tmp tmp
mkdir -p opt/sheaf
mount --bind -o ro "$2" opt/sheaf
python3 -c "$3"
mkdir old
touch the-copy
pivot_root . old
exec chroot . sh -ec 'umount -l old; echo "$0"; exec cat >/dev/null' "$pid"
"""
ENTER = "[ -e /the-copy ] || exit 1\n"
LOOPBACK_UP = """
import fcntl, socket, struct
SIOCSIFFLAGS, IFF_UP = 0x8914, 1
with socket.socket() as any_socket:
    fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", IFF_UP))
"""
SYSTEMCTL = f"""#!/bin/sh
echo "$*" >>{SYSTEMCTL_LOG}
case "$*" in
"start ssh") install -d /run/sshd && /usr/sbin/sshd ;;
"reload ssh") /usr/sbin/sshd -t && kill -HUP "$(cat /run/sshd.pid)" ;;
esac
"""


class Machine:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._as_root = [] if os.getuid() == 0 else [program("sudo"), "-n"]

    def __enter__(self) -> Self:
        self._folder.mkdir()
        view = [program("unshare", "util-linux"), "--mount", "--pid", "--net", "--fork"]
        words = [str(self._folder), str(ROOT), LOOPBACK_UP, sys.base_prefix]
        self._process = self._start([*view, "sh", "-ec", BEGIN, "sh", *words])
        assert self._process.stdout is not None
        self._pid = self._process.stdout.readline().strip()
        if not self._pid:
            _, reason = self._process.communicate(timeout=PATIENCE_S)
            missing(f"this computer cannot be copied: {reason.strip()}")
        self.write("/usr/local/sbin/systemctl", SYSTEMCTL, 0o755)
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate(timeout=PATIENCE_S)  # without input its first process ends

    def start(self, script: str) -> subprocess.Popen[str]:
        """As root, by a shell that ends at the first error."""
        enter = [program("nsenter", "util-linux"), "--target", self._pid]
        enter += ["--mount", "--pid", "--net", "--root", "--wd", "--"]
        clean = ["env", "-i", f"PATH={PATH}", "HOME=/root", "LANG=C.UTF-8", "bash", "-ec"]
        return self._start([*enter, *clean, ENTER + script])

    def _start(self, command: list[str]) -> subprocess.Popen[str]:
        pipe = subprocess.PIPE
        command = [*self._as_root, *command]
        return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)

    def run(self, script: str, given: str = "") -> str:
        """What it says on stdout; it must end well."""
        process = self.start(script)
        said, errors = process.communicate(given, timeout=PATIENCE_S)
        assert process.returncode == 0, f"{script}\n{said}\n{errors}"
        return said

    def fails(self, script: str, given: str = "") -> str:
        """What it says on stderr; it must not end well."""
        process = self.start(script)
        said, errors = process.communicate(given, timeout=PATIENCE_S)
        assert process.returncode != 0, f"{script}\n{said}"
        return errors

    def write(self, path: str, text: str, mode: int = 0o644) -> None:
        self.run(f"install -D -m {mode:o} /dev/stdin {path}", text)
