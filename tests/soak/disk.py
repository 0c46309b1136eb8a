"""A small file system of its own, which can be full at any moment.

It is made of memory, and filled by shrinking it to what it holds: that takes no time and no room.
Mounting it needs root; where that is not allowed it is an ordinary folder, and `can_fill` is false.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Self

LARGEST = 8 * 2**30  # only what is used is taken from the memory
TRIES = 50


class Disk:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.can_fill = False
        self.is_full = False

    def __enter__(self) -> Self:
        self.folder.mkdir(parents=True)
        size = f"size={LARGEST},mode=700"
        self.can_fill = _mount("-t", "tmpfs", "-o", size, "sheaf-soak", str(self.folder))
        return self

    def __exit__(self, *_: object) -> None:
        if self.can_fill:
            subprocess.run(["umount", "-l", str(self.folder)], check=True)

    def fill(self, left: int = 0) -> None:
        """So many bytes are left. A writer may be faster than we are: then it is tried again."""
        for _ in range(TRIES):
            size = self.used + left + os.sysconf("SC_PAGE_SIZE")
            if self._resize(size):
                self.is_full = True
                return
        raise OSError(f"{self.folder} grows too fast to be filled")

    def free(self) -> None:
        if self.is_full and not self._resize(LARGEST):
            raise OSError(f"{self.folder} cannot be enlarged again")
        self.is_full = False

    @property
    def used(self) -> int:
        seen = os.statvfs(self.folder)
        return (seen.f_blocks - seen.f_bfree) * seen.f_frsize

    def save(self, to: Path) -> None:
        """What lies here is gone with the mount; somebody may want to look at it."""
        shutil.copytree(self.folder, to, dirs_exist_ok=True)

    def _resize(self, size: int) -> bool:
        return _mount("-o", f"remount,size={size}", str(self.folder))


def _mount(*words: str) -> bool:
    try:
        return subprocess.run(["mount", *words], capture_output=True).returncode == 0
    except FileNotFoundError:
        return False
