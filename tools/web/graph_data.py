"""What the pages of the graph show, as their templates and programs get it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from .. import uri
from ..add import Relation
from ..conceptnet.seeds import concept_of
from ..errors import UsageError
from ..graphs.reader import FIRST, Key
from ..media.credits import Credit
from ..sheets.concept import concept, more, picture_of
from ..sheets.credits import credits_of
from ..sheets.wording import called
from .as_csv import Sheet
from .data import gallery, judgements, media_file, paths, published, relations, search
from .data.gallery import Filter
from .data.growing import TRAITS
from .data.judgements import Judgement
from .data.neighbourhood import NODES, Neighbourhood, neighbourhood
from .data.queries import about, queries
from .data.statistics import Statistics
from .explorer import Explorer

Query = Mapping[str, str]
Found = dict[str, Any]


def _number(text: str, otherwise: float, most: float) -> float:
    """What is no number is the usual one."""
    try:
        number = float(text)
    except ValueError:
        return otherwise
    return max(0.0, min(number, most)) if isfinite(number) else otherwise


def _listed(text: str, most: int = 100) -> list[str]:
    return [each for each in text.split(" ") if each][:most]


# --- the graph -----------------------------------------------------------------------------------


def searched(explorer: Explorer, query: Query) -> Found:
    text, languages = query.get("q", ""), _listed(query.get("language", ""))
    found = search.find(explorer.reader, explorer.sidecar, text, languages)
    near = None
    if text.strip() and not found:
        near = search.did_you_mean(explorer.reader, explorer.sidecar, text, languages)
    media = explorer.reader.media_of([each.uri for each in found])
    pictures = {each.uri: picture_of(media.get(each.uri, ())) for each in found}
    return {
        "q": text,
        "found": found,
        "pictures": pictures,
        "near": near,
        "is_whole": explorer.is_whole(),
    }


def one_concept(explorer: Explorer, of: str) -> Found | None:
    found = concept(explorer.reader, of)
    if found is None:
        return None
    return {
        "concept": found,
        "credits": credits_of(found.files),
        "queries": about(of, found.entity.name),
    }


def relations_of(explorer: Explorer, of: str) -> Sheet | None:
    reader = explorer.reader
    if of not in reader.entities_at([of]):
        return None
    return Sheet(of, Relation._fields, relations.every(reader, of))


def more_lines(explorer: Explorer, query: Query) -> Found | None:
    group = more(
        explorer.reader,
        query.get("concept", ""),
        query.get("type", ""),
        query.get("way", "") == "out",
        _key(query),
    )
    return None if group is None else {"group": group, "of": query.get("concept", "")}


def _key(query: Query) -> Key:
    try:
        return float(query.get("weight", "inf")), query.get("after", "")
    except ValueError:
        return FIRST


def around(explorer: Explorer, query: Query) -> Found | None:
    depth = 2 if query.get("depth") == "2" else 1
    found = neighbourhood(
        explorer.reader,
        query.get("concept", ""),
        _listed(query.get("types", "")),
        _number(query.get("weight", ""), 0.0, 1e9),
        int(_number(query.get("nodes", ""), NODES, 1000)),
        _listed(query.get("known", ""), 500),
        depth,
    )
    return None if found is None else {"around": _here(found, explorer.media), "depth": depth}


def _here(found: Neighbourhood, folder: Path) -> Neighbourhood:
    """Only with pictures that are on this computer: a browser asks for each of them."""
    nodes = [
        each._replace(picture=None)
        if each.picture and not media_file.is_here(folder, each.picture.path)
        else each
        for each in found.nodes
    ]
    return found._replace(nodes=nodes)


def one_relation(explorer: Explorer, of: str) -> Found | None:
    found = relations.relation(explorer.reader, of)
    if found is None:
        return None
    files = [Credit(of, each) for each in found.media]
    return {"shown": found, "credits": credits_of(files)}


def one_type(explorer: Explorer, type_: str, query: Query) -> Found:
    figures = explorer.figures()
    page = relations.type_page(explorer.reader, type_, figures, query.get("after", ""))
    return {"page": page, "has_changed": _has_changed(explorer, figures)}


def _has_changed(explorer: Explorer, figures: Statistics | None) -> bool:
    return figures is not None and explorer.has_changed(figures)


def ways(explorer: Explorer, query: Query) -> Found:
    """Names are as good as URIs; of several concepts of a name the English one is meant."""
    start, end = query.get("from", "").strip(), query.get("to", "").strip()
    found, sentence = None, ""
    if start and end:
        one, other = _meant(explorer, start), _meant(explorer, end)
        missing = start if one is None else end if other is None else ""
        if missing or one is None or other is None:
            sentence = _no_concept(missing)
        else:
            found = paths.paths(explorer.reader, one, other)
    return {"start": start, "end": end, "found": found, "sentence": sentence}


def _no_concept(called: str) -> str:
    return f"There is no concept {called!r}."


def _meant(explorer: Explorer, text: str) -> str | None:
    """A URI, or what a seed of these words would be, or whichever is called so."""
    reader, likely = explorer.reader, [text, concept_of(text, "en") or text]
    known = reader.entities_at(likely)
    if known:
        return next(each for each in likely if each in known)
    name = text.replace("_", " ")
    senses = reader.senses(name, 20) or reader.senses(name.lower(), 20)
    ordered = sorted(senses, key=lambda each: (each.language != "en", len(each.uri), each.uri))
    return ordered[0].uri if ordered else None


# --- files and figures ---------------------------------------------------------------------------


def files(explorer: Explorer, query: Query) -> Found:
    filter_ = Filter(**{name: query.get(name, "") for name in TRAITS})
    verdicts = judgements.latest(explorer.state)
    chosen = query.get("judged", "") if query.get("judged") in judgements.VERDICTS else ""
    page = _page(explorer, filter_, verdicts, chosen, query.get("after", ""))
    return {
        "filter": filter_,
        "files": page.files,
        "names": {each.owner: called(each.owner) for each in page.files},
        "after": page.after,
        "facets": gallery.facets(explorer.sidecar, filter_),
        "judged": {each.media.sha256: _verdict(verdicts, each.media.sha256) for each in page.files},
        "chosen": chosen,
        "verdicts": _numbers([each.verdict for each in verdicts.values()]),
        "is_whole": explorer.is_whole(),
    }


def _verdict(verdicts: Mapping[str, Judgement], sha256: str) -> str:
    return verdicts[sha256].verdict if sha256 in verdicts else ""


def _page(
    explorer: Explorer, filter_: Filter, verdicts: Mapping[str, Judgement], chosen: str, after: str
) -> gallery.Page:
    """Of files that were judged so; `none`: not yet; empty: whether they were or not."""
    reader, sidecar = explorer.reader, explorer.sidecar
    if chosen in ("good", "bad"):
        so = [(each.line, sha) for sha, each in verdicts.items() if each.verdict == chosen]
        return gallery.judged_page(reader, sidecar, so[::-1], filter_, after)
    return gallery.page(reader, sidecar, filter_, after, verdicts if chosen else ())


def _numbers(verdicts: Sequence[str]) -> dict[str, int]:
    return {each: verdicts.count(each) for each in ("good", "bad")}


def judge_file(explorer: Explorer, said: Query) -> str:
    """Only of a file that the graph records."""
    sha256, verdict = said.get("sha256", ""), said.get("verdict", "")
    if not media_file.records_of(explorer.reader, explorer.sidecar, sha256):
        raise UsageError("there is no such file")
    judgements.judge(explorer.state, sha256, verdict)
    return "the judgement is taken back" if verdict == "none" else f"judged as {verdict}"


def figures(explorer: Explorer, query: Query) -> Found:
    found = explorer.figures()
    return {
        "figures": found,
        "has_changed": _has_changed(explorer, found),
        "is_counting": explorer.is_counting,
        "trouble": explorer.trouble,
        "published": published.PUBLISHED,
    }


def to_copy(explorer: Explorer, query: Query) -> Found:
    """Of a name or a URI. What was typed and is not there is said, and asked for all the same."""
    of, other = query.get("concept", "").strip(), query.get("other", "").strip()
    missing = [each for each in (of, other) if each and _meant(explorer, each) is None]
    concept = _meant(explorer, of or "dog") or concept_of(of or "dog", "en") or of
    second = _meant(explorer, other or "cat") or other or "cat"
    return {
        "of": of or "dog",
        "other": other or "cat",
        "sentence": _no_concept(missing[0]) if missing else "",
        "queries": queries(concept, uri.label(concept) or of, uri.label(second) or second),
    }


def address(query: Query, **changes: str) -> str:
    """The same question with other values; an empty one is left out."""
    values = {name: value for name, value in {**query, **changes}.items() if value}
    return f"?{urlencode(values)}"
