"""The commands of the command line: how each is called, what it does in a line, where it lives.

Their modules are loaded only when one is wanted: some take a scheduler, numpy or paramiko along.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ..jobs import registry

HARVEST = registry.DEFAULT


class Verb(NamedTuple):
    module: str
    does: str


JOBS = {name: Verb(job.command, job.does) for name, job in registry.JOBS.items()}

GROUPS: Mapping[str, Mapping[str, Verb]] = {
    "harvest": {
        **JOBS,
        "jobs": Verb("jobs", "list the jobs"),
        "init": Verb("init", "ask for contact, source, seeds and graph, and write sheaf.toml"),
        "completion": Verb("completion", "print a script that completes commands and flags"),
        "check": Verb("check", "try source, graph, providers, disk, notices and receiving node"),
    },
    "while it runs, and after": {
        "history": Verb("history", "say how far it is: pools, rates, time left, failures"),
        "serve": Verb("serve", "show all that in your browser, live, with buttons"),
        "pause": Verb("pauses", "ask the running harvest, or some of it, to begin no new tasks"),
        "resume": Verb("pauses", "ask a paused harvest, or some of it, to go on"),
        "stop": Verb("stop", "ask the running harvest to end; tasks finish, nothing is lost"),
        "retry": Verb("retry", "put failed ones back to work"),
        "ship": Verb("ship", "send the media to the receiving node now"),
    },
    "what was harvested": {
        "credits": Verb("credits", "print who made the files of a concept, or of everything"),
        "sheet": Verb("sheet", "write a page to look at: a concept with its media"),
        "stats": Verb("stats", "tell coverage, licences, providers and degrees in figures"),
        "export": Verb("export", "write the graph as files for other tools"),
        "copy": Verb("copy", "copy a graph into another one"),
        "clear": Verb("clear", "empty the graph, after you typed its name"),
    },
    "ConceptNet's dump": {
        "download": Verb("download", "get ConceptNet's dump and verify its checksum"),
        "survey": Verb("survey", "say what the filter keeps of an assertions file"),
        "mirror": Verb("mirror", "serve an assertions file like api.conceptnet.io"),
    },
    "several machines": {
        "cluster": Verb("cluster", "keys and nodes: make, add, remove, look at them"),
        "node": Verb("node", "work for a harvest on another machine"),
    },
}

OF_PAGES: Mapping[str, Verb] = {
    "pages show": Verb("pages_show", "show a page as it is in the archive"),
    "pages words": Verb("pages_words", "tell how often each word stands in the pages"),
    "pages paths": Verb("pages_paths", "tell how a page is reached from the seeds"),
    "pages links": Verb("pages_links", "tell where a page leads"),
    "pages sheet": Verb(
        "pages_sheet", "write a page to look at: figures, and pages with their text"
    ),
    "pages check": Verb("pages_check", "compare archive, index and table, record by record"),
    "pages export": Verb("pages_export", "write pages, or the table, as files for other tools"),
    "pages compare": Verb("pages_compare", "crawl with few and with many workers, and compare"),
}
"""What a crawl has kept; `python main.py pages --help` lists them."""

OF_STRUCTURE: Mapping[str, Verb] = {
    "structure check": Verb("structure_check", "show what an export makes of a document"),
    "structure dispatch": Verb("structure_dispatch", "look for new documents, and parse none"),
    "structure parse": Verb("structure_parse", "parse the documents that wait, or all again"),
    "structure export": Verb("structure_export", "store the rows of documents that wait, or all"),
    "structure requeue": Verb("structure_requeue", "let what failed below three times wait again"),
    "structure status": Verb("structure_status", "say how far it is: queues, parsers, failures"),
}
"""Parts of a structure; `python main.py structure --help` lists them."""

OF_CLUSTER: Mapping[str, Verb] = {
    "cluster init": Verb("cluster_init", "make the keys of a cluster, and its server's settings"),
    "cluster add": Verb("cluster_add", "write the file with which a node joins"),
    "cluster remove": Verb("cluster_remove", "cut a node off and refuse its key"),
    "cluster drain": Verb("cluster_drain", "let a node end what it has, and then itself"),
    "cluster forget": Verb("cluster_forget", "get again what a lost node alone had"),
    "cluster status": Verb("cluster_status", "say which nodes have keys, work, have files"),
}
"""Keys and nodes; `python main.py cluster --help` lists them."""

VERBS: Mapping[str, Verb] = {
    **{name: verb for group in GROUPS.values() for name, verb in group.items()},
    **OF_PAGES,
    **OF_STRUCTURE,
    **OF_CLUSTER,
}


def overview() -> str:
    """What `python main.py --help` shows, on one screen."""
    groups = "\n".join(
        "\n".join([f"{title}:", *(f"  {name:12} {verb.does}" for name, verb in group.items())])
        for title, group in GROUPS.items()
    )
    return (
        "usage: python main.py [COMMAND] [FLAGS]\n\n"
        "Harvests a multimodal commonsense knowledge graph; run again to resume.\n\n"
        f"{groups}\n\n"
        f"Flags without a command are those of {HARVEST}.\n"
        "  python main.py --sample           harvest the built-in sample world, offline\n"
        "  python main.py COMMAND --help     show the flags of a command\n"
        "  python main.py --version          show the version"
    )
