"""The command line: every command has its own flags and help, and nothing is guessed or ignored."""

from __future__ import annotations

import shlex

import pytest

from main import main
from tests.support.command import ROOT, Here, run, says
from tools import VERSION
from tools.commands.parsing import Parser, command, parsed
from tools.commands.verbs import HARVEST, VERBS

WIDTH, SCREEN = 80, 40


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("--port 99 --sample", "did you mean `python main.py serve --port`?"),
        ("--sample --sha256 zz", "--sha256 is not a flag of conceptnet; did you mean `python main"),
        ("--plot=x.gif", "--plot is not a flag of conceptnet; did you mean"),
        ("export --jsn files", "`python main.py export --help` lists those it has"),
        ("--sede dog", "--sede is not a flag of conceptnet; did you mean --seed?"),
        ("--sam", "--sam is not a flag of conceptnet; did you mean --sample?"),
        ("--fetch 3", "did you mean --fetch-workers?"),
        ("export files --limit 3", "--limit is not a flag of export; did you mean `python main.py"),
        ("exprot files", "'exprot' is not a command; did you mean export?"),
        ("Jobs", "'Jobs' is not a command; did you mean jobs?"),
        ("dance", "'dance' is not a command: `python main.py --help` lists them"),
        ("/c/en/dog", "did you mean --seed /c/en/dog?"),
        ("--state x pause", "the command comes first: python main.py pause --state x"),
        ("jobs extra", "jobs takes no further argument: 'extra'"),
        ("--limit many", "--limit: 'many' is not a whole number"),
        ("--min-weight much", "--min-weight: 'much' is not a number"),
        ("--depth", "--depth: a value is missing"),
        ("mirror --port x", "--port: 'x' is not a whole number"),
    ],
)
def test_what_is_wrong_is_one_sentence(here: Here, typed: str, said: str) -> None:
    told = here(*shlex.split(typed))
    assert told.startswith("2 sheaf: ") and said in told


@pytest.mark.parametrize("script", ["history.py", "clear.py"])
def test_the_other_scripts_say_it_the_same_way(script: str) -> None:
    name = script.removesuffix(".py")
    assert says(run(script, "--wath"), 2).startswith(f"{name}: --wath is not a flag of {name}")


def test_the_help_fits_a_screen_and_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert 24 <= len(lines) <= SCREEN and max(map(len, lines)) <= WIDTH
    named = {line.split()[0] for line in lines if line.startswith("  ")}
    assert named >= {verb for verb in VERBS if " " not in verb}  # the others: `pages --help`


@pytest.mark.parametrize("verb", VERBS)
def test_every_command_has_its_own_help(
    verb: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    with pytest.raises(SystemExit) as ended:
        main([verb, "--help"])
    said = capsys.readouterr().out
    assert ended.value.code == 0 and said.startswith(f"usage: python main.py {verb} ")
    assert max(map(len, said.splitlines())) <= WIDTH
    assert verb == HARVEST or verb in said.partition("examples:")[2]
    assert ("--port" in said) == (verb in ("mirror", "serve", "cluster init"))
    assert ("--fetch-workers" in said) == (verb in (HARVEST, "check"))


@pytest.mark.parametrize("verb", VERBS)
def test_every_example_is_understood(verb: str) -> None:
    scripts = {"main.py": [], "history.py": ["history"], "clear.py": ["clear"]}
    for example in command(verb).EXAMPLES:
        line = example.removeprefix('eval "$(').replace(')"', "")
        _, script, *words = shlex.split(line.partition("  ")[0].partition(" > ")[0])
        parsed([*scripts[script], *words])


@pytest.mark.parametrize("verb", VERBS)
def test_every_option_is_declared_with_its_type(verb: str) -> None:
    """Those that only become settings are not looked at by the command."""
    declared = {
        name
        for each in command(verb).Options.__mro__
        for name in getattr(each, "__annotations__", ())
    }
    options = vars(Parser(verb).read([]))
    assert set(declared) <= set(options) | {"typed"}


def test_flags_without_a_command_are_the_harvests() -> None:
    options = parsed(["--sample", "--seed", "dog"])
    assert (options.verb, options.sample, options.seed) == (HARVEST, True, ["dog"])
    assert parsed([]).verb == HARVEST
    assert vars(parsed([HARVEST, "--limit", "3"])) | {"typed": []} == (
        vars(parsed(["--limit", "3"])) | {"typed": []}
    )


def test_words_and_flags_may_be_mixed() -> None:
    options = parsed(["export", "--format", "csv", "files", "-q"])
    assert (str(options.folder), options.format, options.quiet) == ("files", "csv", True)
    assert str(parsed(["export", "--graph", "sqlite:x", "files"]).folder) == "files"


def test_the_version_is_that_of_the_project(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"sheaf {VERSION}\n"
    assert f'version = "{VERSION}"' in (ROOT / "pyproject.toml").read_text("utf-8")
