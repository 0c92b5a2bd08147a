"""No text for readers uses a phrase of ``banned_phrases.toml``.

Read are templates, static scripts, and the string literals of product code (headlines, forms,
errors, e-mails and help of commands); comments and docstrings are not.
"""

import ast
import re
import subprocess
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PRODUCT = (
    "analysis",
    "audits",
    "cartography",
    "core",
    "crawlers",
    "probes",
    "screening",
    "simulator",
    "tasks",
    "webapp",
)
SUFFIXES = (".html", ".js", ".py", ".svg", ".txt")


@dataclass(frozen=True, slots=True)
class Phrase:
    """A banned phrase, the preferred wording, and paths that may use it."""

    pattern: re.Pattern[str]
    preferred: str
    but_not: tuple[str, ...]


def read_phrases() -> list[Phrase]:
    """Read the list of banned phrases."""
    rows = tomllib.loads(Path(__file__).with_name("banned_phrases.toml").read_text())["phrase"]
    return [
        Phrase(re.compile(r["pattern"], re.I), r["preferred"], tuple(r.get("but_not", ())))
        for r in rows
    ]


def split_alternatives(pattern: str) -> Iterator[str]:
    """Yield the alternatives of a pattern outside of any group."""
    depth, start = 0, 0
    for found in re.finditer(r"\\.|[()\[\]|]", pattern):
        depth += (found[0] in ("(", "[")) - (found[0] in (")", "]"))
        if found[0] == "|" and depth == 0:
            yield pattern[start : found.start()]
            start = found.end()
    yield pattern[start:]


def compile_any(phrases: list[Phrase]) -> re.Pattern[str]:
    """Compile one pattern of all phrases for lower-case text.

    Alternatives that begin with a literal are tried by their first letter alone, which is ten times
    as fast as patterns that each begin with a word boundary.
    """
    parts = [part for p in phrases for part in split_alternatives(p.pattern.pattern)]
    words = [part[2:] for part in parts if part.startswith(r"\b")]
    others = [part for part in parts if not part.startswith(r"\b")]
    return re.compile("|".join([rf"\b(?:{'|'.join(words)})", *others]))


def list_files() -> list[str]:
    """List templates, scripts and modules with texts for readers."""
    folders = ("templates", *PRODUCT)
    run = subprocess.run(
        ["git", "ls-files", *folders], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return [
        name
        for name in run.stdout.split()
        if name.endswith(SUFFIXES) and "/migrations/" not in name and "/vendor/" not in name
    ]


def strings_of_module(text: str) -> Iterator[str]:
    """Yield string literals but docstrings; a value within an f-string is ``#``."""
    tree = ast.parse(text)
    skipped: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            skipped.add(id(node.value))
        if isinstance(node, ast.JoinedStr):
            skipped.update(id(part) for part in node.values)
            parts = (p.value if isinstance(p, ast.Constant) else "#" for p in node.values)
            yield "".join(str(part) for part in parts)
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in skipped
        ):
            yield node.value


def text_of_template(text: str) -> str:
    """Return a template without comments and tags; a value is ``#``."""
    text = re.sub(r"{% comment %}.*?{% endcomment %}|{#.*?#}", " ", text, flags=re.S)
    text = re.sub(r"{{.*?}}", "#", text, flags=re.S)
    text = re.sub(r"{%(?!.*\bwith\b).*?%}", " ", text)
    return re.sub(r"</?(?:a|b|bdi|code|em|span|strong|small)\b[^>]*>", "", text)


def text_of_script(text: str) -> str:
    """Return a script without comments."""
    return re.sub(r"/\*.*?\*/|^\s*//.*?$", " ", text, flags=re.S | re.M)


def flatten(text: str) -> str:
    """Replace runs of white space by a blank."""
    return re.sub(r"\s+", " ", text)


def texts_of_file(name: str, anything: re.Pattern[str]) -> Iterator[str]:
    """Yield the texts of one file for readers; modules without a hit are not parsed."""
    raw = (ROOT / name).read_text()
    if name.endswith(".py"):
        if anything.search(flatten(re.sub(r'"\s*\n\s*f?"', "", raw)).lower()):
            yield from (flatten(found) for found in strings_of_module(raw))
    elif name.endswith(".js"):
        yield flatten(text_of_script(raw))
    else:
        yield flatten(text_of_template(raw))


def test_no_text_uses_a_banned_phrase() -> None:
    phrases = read_phrases()
    anything = compile_any(phrases)
    found = [
        f"{name}: “{hit.group(0)}”, better: {phrase.preferred}"
        for name in list_files()
        for text in texts_of_file(name, anything)
        if anything.search(text.lower())
        for phrase in phrases
        if not name.startswith(phrase.but_not or "\0")
        for hit in [phrase.pattern.search(text)]
        if hit
    ]
    assert not found, "\n".join(found)


def test_one_pattern_finds_what_any_phrase_finds() -> None:
    phrases = read_phrases()
    anything = compile_any(phrases)
    found = [part for p in phrases for part in split_alternatives(p.pattern.pattern)]
    assert sum(p.pattern.pattern.count("|") for p in phrases) >= len(found) - len(phrases) > 0
    for word in ("stands in", "95 of 100", "no row: nothing", "whoever", "is of yours", "nobody’s"):
        assert anything.search(word)
        assert any(p.pattern.search(word) for p in phrases)
    assert not anything.search("names are in one region")


@pytest.mark.parametrize(
    "text",
    [
        "73.7 % of the subdomains stand in us-east-1",
        "95 of 100 below",
        "No row: nothing of this kind was found.",
        "Which domains shall we look at?",
        "Whose round trips",
        "2 different ways in 20 traceroutes",
        "Nothing stands at this address",
    ],
)
def test_the_list_matches_wordings_that_were_replaced(text: str) -> None:
    assert any(phrase.pattern.search(text) for phrase in read_phrases())


def test_texts_of_a_module_are_its_literals_but_no_docstrings() -> None:
    found = list(strings_of_module('"""Doc."""\nx = f"in {y} of" "100"\nz = "a" "b"\n'))
    assert found == ["in # of100", "ab"]
