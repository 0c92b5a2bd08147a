"""Documents, docstrings and comments use the standard English of the field.

``BANNED`` has phrases of an earlier version that read as translated or as metaphors, each with the
preferred wording. Pages and messages have a longer list, ``tests/pages/ui/banned_phrases.toml``.
"""

import ast
import io
import re
import subprocess
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# (pattern, preferred wording); white space is one blank, and case is ignored.
BANNED = (
    (r"who(m)?ever", "anyone who, clients that, the operator"),
    (r"(some|any|every|no)body", "someone, anyone, everyone, no one, a client"),
    (r"strangers?", "another account, an unknown client"),
    (r"(?<!front-)(?<!front )(?<!Front )doors?", "endpoint, proxy, interface"),
    (r"houses?|households?|rooms?", "product, package, space"),
    (r"told|tells?|telling", "reported, shown, sent to, distinguished"),
    (r"says?|said|saying", "states, shows, is"),
    (r"whose", "with, of which, that has"),
    (r"(goes|go|went|gone|going) on", "continues, resumes"),
    (r"(is|are|was|were|be) asked", "is queried, is requested"),
    (r"what is asked|what was asked", "the query, the request"),
    (r"comes? out|came out|goes in", "results in, returns, accepts"),
    (r"takes? (its|in)", "uses, accepts"),
    (r"once more|anew", "again"),
    (r"by and by|for good|for ever", "gradually, permanently, indefinitely"),
    (r"stands|stood", "is, is in, represents"),
)
_PATTERN = re.compile("|".join(rf"\b(?:{pattern})\b" for pattern, _ in BANNED), re.IGNORECASE)
# (file, phrase) that stay; keep this empty.
ALLOWED: frozenset[tuple[str, str]] = frozenset()


def tracked(*patterns):
    listed = subprocess.check_output(["git", "ls-files", *patterns], cwd=ROOT, text=True).split()
    return [name for name in listed if (ROOT / name).is_file()]


def product_python():
    return [
        name
        for name in tracked("*.py")
        if not name.startswith("tests/") and "/migrations/" not in name
    ]


def docstrings(tree):
    """(line, text) of the docstrings of a module, its classes and functions."""
    owners = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(tree):
        if isinstance(node, owners) and ast.get_docstring(node, clean=False):
            yield node.body[0].lineno, node.body[0].value.value


def comments(source):
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def prose(name):
    """(line, text) of the prose in a file."""
    source = (ROOT / name).read_text()
    if name.endswith(".md"):
        return list(enumerate(source.splitlines(), start=1))
    return [*docstrings(ast.parse(source)), *comments(source)]


def phrases(name, texts):
    """One line for each banned phrase."""
    found = []
    for line, text in texts:
        flat = re.sub(r"\s+", " ", text)
        found += [
            f"{name}:{line}: {match.group()}"
            for match in _PATTERN.finditer(flat)
            if (name, match.group().lower()) not in ALLOWED
        ]
    return found


def test_documents_use_no_banned_phrase():
    found = [line for name in tracked("*.md") for line in phrases(name, prose(name))]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("folder", sorted({name.split("/")[0] for name in product_python()}))
def test_docstrings_and_comments_use_no_banned_phrase(folder):
    names = [name for name in product_python() if name.split("/")[0] == folder]
    found = [line for name in names for line in phrases(name, prose(name))]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("text", ["Whoever asks", "a zone whose\nservers", "the work goes on"])
def test_a_banned_phrase_is_found(text):
    assert phrases("x.md", [(1, text)])


def test_words_that_contain_a_banned_one_are_not():
    assert not phrases("x.md", [(1, "Azure Front Door of a warehouse, asked for, standard")])
