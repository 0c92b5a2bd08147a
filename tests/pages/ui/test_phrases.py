"""Pages, headlines, errors and commands keep to the standard English of the field."""

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PHRASES = tomllib.loads((Path(__file__).parent / "banned_phrases.toml").read_text())
BANNED = [(re.compile(pattern, re.I), better) for pattern, better in PHRASES.items()]
ANY = re.compile("|".join(f"(?:{pattern})" for pattern in PHRASES), re.I)
SPOKEN = ("analysis", "audits", "screening", "simulator", "tasks", "webapp")
_UNSEEN = re.compile(r"\{#.*?#\}|\{% comment %\}.*?\{% endcomment %\}|<!--.*?-->", re.S)


def texts_of_template(path: Path) -> Iterator[tuple[int, str]]:
    """The visible text of a template, in one piece; the line is not known."""
    yield 0, _UNSEEN.sub("", path.read_text())


def texts_of_module(path: Path) -> Iterator[tuple[int, str]]:
    """String literals with their lines; docstrings are for developers and left out."""
    tree = ast.parse(path.read_text())
    documents = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            documents.update(id(part) for part in node.values)
            parts = [p.value if isinstance(p, ast.Constant) else "…" for p in node.values]
            yield node.lineno, "".join(map(str, parts))
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in documents
        ):
            yield node.lineno, node.value


def faults(path: Path) -> list[str]:
    read = texts_of_template if path.suffix == ".html" else texts_of_module
    found = []
    for line, text in read(path):
        plain = re.sub(r"\s+", " ", text.replace("&nbsp;", " "))
        if ANY.search(plain):
            for pattern, better in BANNED:
                found += [
                    f"{path.relative_to(ROOT)}:{line}: {hit[0]!r}; better: {better}"
                    for hit in pattern.finditer(plain)
                ]
    return found


@pytest.mark.parametrize("folder", ["templates", *SPOKEN])
def test_no_text_has_a_banned_phrase(folder: str) -> None:
    paths = [p for p in (ROOT / folder).rglob("*") if p.suffix in (".html", ".py")]
    assert paths
    found = [fault for path in sorted(paths) for fault in faults(path)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("name", "text", "n"),
    [
        ("a.html", "<p>Names\n  stand in {{ region }}.</p>{# whoever #}", 1),
        ("a.html", "<h1>Whoever asks</h1><p>and anybody else</p>", 2),
        ("a.py", '"""Whoever asks."""\nx = f"{n} names stand in one region"\n', 1),
        ("a.py", 'raise ValueError("there is no list of yours")\n', 1),
        ("a.py", "# whoever reads this comment\nx = 'names are in one region'\n", 0),
    ],
)
def test_what_is_searched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str, n: int
) -> None:
    monkeypatch.setattr("tests.pages.ui.test_phrases.ROOT", tmp_path)
    (tmp_path / name).write_text(text)
    assert len(faults(tmp_path / name)) == n
