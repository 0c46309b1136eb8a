"""The job `structure` on a node: who parses there, by which scripts.

Promise: a document is parsed by the very script that the coordinator means, from this node's own
folder, or by another node.
"""

from __future__ import annotations

import hashlib
import time
from base64 import b64decode
from contextlib import ExitStack, closing
from dataclasses import replace
from threading import Lock
from typing import Any, NamedTuple

from ..cluster.messages import Welcome
from ..cluster.staff import NodeStaff
from ..cluster.travel import TravelCarrier
from ..engine.stage import Done, Stage, Task
from ..engine.threads import ThreadExecutor
from ..errors import RetryLater, UsageError
from ..settings import Settings
from ..structure.declared import load_structure
from ..structure.hosts import Hosts
from ..structure.parse import Parse, ParsedDocument, UnparsedDocument
from ..structure.queues import hash_of, queue_of
from ..structure.raw import raw_of
from ..structure.registry import Limits, Parsers, Script
from ..structure.sandbox import sandbox_here
from .structure_abroad import STAGE, codes_of
from .structure_declared import limits_of

HELD_S = 30.0  # until it is looked whether the right script is here by now


class Document(NamedTuple):
    """What came with a task."""

    content: bytes
    parser: str
    hash: str
    limits: Limits


class OtherScript(UsageError):
    """It is somebody's to mend, and may be so soon."""

    delay = HELD_S


def staff_of(own: Settings, welcome: Welcome) -> NodeStaff:
    """A structure that is not here, or is wrong, is said to the coordinator."""
    name, then = str(welcome.setup["structure"]), str(welcome.setup["then"])
    try:
        structure = load_structure(own.structure.folder, name, limits_of(own.structure))
        parsers = Parsers(structure.rules, structure.folder)
        codes = codes_of(parsers)
    except UsageError as error:
        return NodeStaff(ThreadExecutor((), {}), {}, {}, codes={f"{STAGE} lacks": str(error)})
    opened = ExitStack()
    hosts = opened.enter_context(closing(Hosts(limits_of(own.structure), sandbox_here())))
    carrier = DocumentCarrier()
    work = ParseThere(Parse(name, {}, parsers, hosts, then), parsers, carrier)
    stage = Stage(STAGE, own.cluster.threads or own.structure.cores, kind="computes")
    return NodeStaff(
        ThreadExecutor([stage], {STAGE: carrier.wrapped(work)}),
        {STAGE: stage},
        {STAGE: carrier},
        codes={STAGE: codes},
        close=opened.close,
    )


class DocumentCarrier(TravelCarrier):
    """Holds the bytes of those that wait for a place."""

    def __init__(self) -> None:
        super().__init__(document_said)
        self._turn = Lock()
        self._documents: dict[str, Document] = {}

    def arrived(self, uri: str, cargo: Any, is_again: bool) -> None:
        content = b64decode(cargo["raw"], validate=True)
        if hashlib.sha256(content).hexdigest() != hash_of(uri):
            raise RetryLater("its bytes did not arrive as they were")
        found = Document(content, cargo["parser"], cargo["hash"], Limits(*cargo["limits"]))
        with self._turn:
            self._documents[uri] = found

    def given_back(self, uri: str) -> None:
        with self._turn:
            self._documents.pop(uri, None)

    def take(self, uri: str) -> Document:
        with self._turn:
            return self._documents.pop(uri)


class ParseThere:
    """Worker: the bytes came with the task."""

    def __init__(self, parse: Parse, parsers: Parsers, carrier: DocumentCarrier) -> None:
        self._parse, self._parsers, self._carrier = parse, parsers, carrier

    def __call__(self, task: Task) -> Done:
        document = self._carrier.take(task.uri)
        script = self._script(document)._replace(limits=document.limits)
        raw, hash_ = raw_of(task.note or ""), hash_of(task.uri)
        done = self._parse.parsed(script, raw, hash_, document.content)
        return replace(done, tally={**done.tally, queue_of(task): 1})

    def _script(self, document: Document) -> Script:
        for rule in self._parsers.rules:
            if rule.parser == document.parser:
                script = self._parsers.script_of(rule)
                if script.hash == document.hash:
                    return script
        raise OtherScript(
            f"its {document.parser} is another one than at the coordinator: copy the file from "
            "there to here"
        )


def document_said(found: ParsedDocument | UnparsedDocument) -> dict[str, Any]:
    """What a node sends of a document."""
    age_s = max(0.0, time.time() - found.at)
    about = {"parser": found.parser, "hash": found.parser_hash, "age_s": age_s}
    if isinstance(found, UnparsedDocument):
        return about
    said = {"seconds": found.seconds, "memory": found.memory, "json": found.json.decode()}
    return {**about, **said}
