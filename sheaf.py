"""In a clone, the name that an installed Sheaf has: `import sheaf` is `import tools`.

Promise: `sheaf.x.y` and `tools.x.y` are one module, whichever is imported first, so that code that
was written for the one works with the other. `python -m sheaf` is the command `sheaf`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType

import tools
from tools import *  # noqa: F403  # for those who check types

ALIAS, REAL = "sheaf", "tools"


class Alias(MetaPathFinder, Loader):
    """Finds and loads `sheaf.x` as the module `tools.x`."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not name.startswith(f"{ALIAS}.") or find_spec(real_name(name)) is None:
            return None
        return ModuleSpec(name, self)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = import_module(real_name(spec.name))
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """It has run already. The import system gave it our spec, and with it another name, by
        which it could neither be reloaded nor be found by a process that it starts."""
        assert module.__spec__ is not None  # noqa: S101
        module.__spec__ = module.__spec__.loader_state


def real_name(name: str) -> str:
    return REAL + name.removeprefix(ALIAS)


sys.meta_path.insert(0, Alias())
sys.modules[ALIAS] = tools

if __name__ == "__main__":
    from tools.entry import main

    sys.exit(main())
