"""A harvest among whose files one does harm to the process that gets it.

The harm is done by a hook that only worker processes load, when the poisonous file is to be
written: so all of it is real but the flaw in the library.
"""

from __future__ import annotations

from pathlib import Path

HOOK = """
import sys
if any(word.endswith("conceptnet_processes") for word in sys.orig_argv):
    import ctypes, os, signal, time

    def harm():
        if {kind!r} == "crash":
            ctypes.string_at(0)
        if {kind!r} == "memory":
            eaten = []
            while True:
                eaten.append(bytearray(10_000_000))
        if {kind!r} == "silent":
            os.kill(os.getpid(), signal.SIGSTOP)
            time.sleep(600)

    def see(event, arguments):
        if event == "open" and {path!r} in str(arguments[0]):
            harm()

    sys.addaudithook(see)
"""


def poisoned(folder: Path, kind: str, path: str) -> Path:
    """A folder of modules with which whoever opens such a path comes to harm."""
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(HOOK.format(kind=kind, path=path))
    return folder
