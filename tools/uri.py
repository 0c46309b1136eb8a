"""ConceptNet URIs: pure functions, no network, no state.

A concept is `/c/<language>/<text>[/<part of speech>[/<source>/<sense>]]`, a relation type is
`/r/<Name>`, an assertion `/a/[<rel>/,<start>/,<end>/]`. What begins with http is external.

>>> label("/c/en/canary_islands/n/wp/spain")
'canary islands'
>>> parse_assertion("/a/[/r/IsA/,/c/en/washington,_d.c/,/c/en/city/n/]")
('/r/IsA', '/c/en/washington,_d.c', '/c/en/city/n')
"""

from __future__ import annotations

import re

from .add import KINDS

LONGEST_URI = 2_000  # characters; Neo4j cannot index much more, and would take none of a stretch
LONGEST_NAME = 200  # bytes of a folder's name; file systems allow 255
LONGEST_FOLDER = 1_000  # bytes of all names below the media folder; a whole path may have 4,096

# Not `.` and `..`, which mean something else in an address, and not a lone `,`: it would cut an
# assertion in the wrong place.
_PIECE = r"(?!(?:\.\.?|,)(?:/|$))[^/\x00-\x20\x7f\x85\u2028\u2029]+"
_CONCEPT = re.compile(rf"/c/[a-z]{{2,3}}(?:[_-][a-z]+)*(?:/{_PIECE})+")


def is_concept(uri: str) -> bool:
    """Is this a well-formed concept, such as a user may give as a seed?

    >>> is_concept("/c/en/dog"), is_concept("dog"), is_concept("/c/en/"), is_concept("/c/en/a b")
    (True, False, False, False)
    """
    return _CONCEPT.fullmatch(uri) is not None


def is_external(uri: str) -> bool:
    """
    >>> is_external("http://dbpedia.org/resource/Dog"), is_external("/c/en/dog")
    (True, False)
    """
    return uri.startswith(("http://", "https://"))


def language(uri: str) -> str | None:
    """The language of a concept; nothing else has one.

    >>> language("/c/en/dog/n"), language("http://example.org/x"), language("/r/IsA")
    ('en', None, None)
    """
    return uri[3:].partition("/")[0] or None if uri.startswith("/c/") else None


def label(uri: str) -> str:
    """What a person calls it. Senses share the label of their term.

    >>> label("/c/en/cat's_cradle"), label("/r/dbpedia/genre"), label("/c/en")
    ("cat's cradle", 'genre', '')
    >>> label("http://dbpedia.org/resource/Guide_dog/"), label("/a/[/r/IsA/,/c/en/a/,/c/en/b/]")
    ('Guide dog', 'a IsA b')
    >>> label("/a/what is no assertion")
    '/a/what is no assertion'
    """
    if is_external(uri):
        return uri.rstrip("/").rsplit("/", 1)[-1].replace("_", " ")
    if uri.startswith("/a/"):
        try:
            rel, start, end = parse_assertion(uri)
        except ValueError:
            return uri
        return f"{label(start)} {label(rel)} {label(end)}"
    pieces = uri.split("/")
    if pieces[1:2] == ["c"]:
        return pieces[3].replace("_", " ") if len(pieces) > 3 else ""
    return pieces[-1]


def term(uri: str) -> str:
    """The concept without its sense; external addresses are their own term.

    >>> term("/c/en/test/n/wn/act"), term("http://example.org/a/b")
    ('/c/en/test', 'http://example.org/a/b')
    """
    return uri if is_external(uri) else "/".join(uri.split("/")[:4])


def sense(uri: str) -> str | None:
    """What distinguishes this concept from others of the same term.

    >>> sense("/c/en/test/n/wn/act"), sense("/c/en/test")
    ('n/wn/act', None)
    """
    pieces = uri.split("/", 4)
    return pieces[4] if len(pieces) > 4 and pieces[1] == "c" else None


def prefixes(uri: str) -> list[str]:
    """The URI and everything it stands under: a page lists what is below its own URI.

    >>> prefixes("/c/en/dog/n")
    ['/c/en/dog/n', '/c/en/dog', '/c/en']
    >>> prefixes("http://example.org/a/b")
    ['http://example.org/a/b']
    """
    if is_external(uri):
        return [uri]
    pieces = uri.split("/")
    return ["/".join(pieces[:count]) for count in range(len(pieces), 2, -1)]


def assertion(rel: str, start: str, end: str) -> str:
    """
    >>> assertion("/r/ExternalURL", "/c/en/dog", "http://dbpedia.org/resource/Dog")
    '/a/[/r/ExternalURL/,/c/en/dog/,/http://dbpedia.org/resource/Dog/]'
    """
    return "/a/[" + ",".join(f"/{piece.strip('/')}/" for piece in (rel, start, end)) + "]"


def parse_assertion(uri: str) -> tuple[str, str, str]:
    """Relation, start and end. The cut is at `/,/`, so commas inside a term are kept.

    >>> parse_assertion("/a/[/r/ExternalURL/,/c/en/dog/,/http://dbpedia.org/resource/Dog/]")
    ('/r/ExternalURL', '/c/en/dog', 'http://dbpedia.org/resource/Dog')
    >>> parse_assertion("/a/[/r/IsA/]")
    Traceback (most recent call last):
    ...
    ValueError: not an assertion: '/a/[/r/IsA/]'
    """
    pieces = uri[4:-2].split("/,/") if uri.startswith("/a/[/") and uri.endswith("/]") else []
    if len(pieces) != 3:
        raise ValueError(f"not an assertion: {uri!r}")
    rel, start, end = (piece.removeprefix("/") for piece in pieces)
    return f"/{rel}", *(part if is_external(part) else f"/{part}" for part in (start, end))  # type: ignore[return-value]


def media_folder(uri: str) -> str:
    """Where the media of a concept or relation lie; no two share a folder.

    >>> media_folder("/c/en/dog/v"), media_folder("/a/[/r/CapableOf/,/c/en/dog/,/c/en/bark/]")
    ('en/dog/v', '[@r@CapableOf@,@c@en@dog@,@c@en@bark@]')
    >>> media_folder("/c/en/a~b"), media_folder("/c/en/dog/image")
    ('en/a~941528e5e77c9a1f', 'en/dog/image~6105d6cc76af4003')
    """
    if uri.startswith("/a/"):
        name = uri[3:].replace("/", "@")
        return _marked(name, uri) if "@" in uri or not _is_plain(name) else name
    names = [each if _is_plain(each) else _marked(each, each) for each in uri.split("/")[2:]]
    if len("/".join(names).encode()) > LONGEST_FOLDER:
        names = [names[0], _marked(names[1], uri)]
    return "/".join(names)


def _is_plain(name: str) -> bool:
    """Not too long, not hidden, and neither a kind of media nor like a name that is marked."""
    is_special = name.startswith(".") or name in KINDS or "~" in name
    return len(name.encode()) <= LONGEST_NAME and not is_special


def _marked(name: str, whole: str) -> str:
    from hashlib import sha256  # it loads OpenSSL, and few names need it

    beginning = name.encode()[: LONGEST_NAME - 17].decode(errors="ignore").partition("~")[0]
    return f"{beginning.lstrip('.')}~{sha256(whole.encode()).hexdigest()[:16]}"
