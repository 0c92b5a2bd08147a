"""No module, class, function, variable or SQL relation is named with a private word.

``docs/glossary.md`` has the terms to use; the list below holds words that an earlier version used
as metaphors, and general verbs that name nothing.
"""

import ast
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PRIVATE = frozenset(
    [
        "errand",
        "errands",
        "parcel",
        "parcels",
        "ledger",
        "ledgers",
        "sieve",
        "sieves",
        "sift",
        "shelf",
        "shelves",
        "door",
        "doors",
        "book",
        "books",
        "casualty",
        "casualties",
        "hoard",
        "hoards",
        "foul",
        "slant",
        "slants",
        "told",
        "tell",
        "tells",
        "telling",
        "say",
        "says",
        "said",
        "whose",
        "hear",
        "heard",
        "take",
        "takes",
        "took",
        "taken",
        "takeable",
        "deal",
        "deals",
        "dealt",
        "lay",
        "lays",
        "mend",
        "mends",
        "mended",
        "slip",
        "slips",
        "spoil",
        "spoils",
        "spoiled",
        "room",
        "rooms",
        "house",
        "houses",
        "household",
        "households",
        "town",
        "towns",
        "bench",
        "workshop",
        "desk",
        "companies",
        "mason",
        "minter",
        "keeper",
        "finder",
        "crew",
        "drawer",
        "drawers",
        "purse",
        "podium",
        "patience",
        "hope",
        "hopeful",
        "stem",
        "stems",
        "twin",
        "twins",
        "witness",
        "nap",
        "die",
        "hog",
        "lap",
        "pulse",
        "pulses",
        "passport",
        "passports",
        "journey",
        "journeys",
        "station",
        "stations",
        "remarks",
        "speaks",
        "lives",
        "came",
        "come",
        "comes",
        "go",
        "goes",
        "going",
        "bring",
        "brings",
        "put",
        "puts",
        "give",
        "gives",
        "given",
        "got",
        "wishes",
        "wish",
        "asker",
        "cast",
        "strangers",
        "stranger",
        "stolen",
        "blame",
        "grow",
        "grown",
        "lie",
        "lies",
        "liar",
        "odd",
        "untie",
        "untied",
        "aside",
        "apart",
        "together",
        "beside",
        "ever",
        "forever",
        "yet",
        "soon",
        "quietly",
        "patiently",
        "stand",
        "stands",
        "standing",
        "stay",
        "stays",
        "sit",
        "sits",
        "stood",
        "look",
        "looks",
        "seek",
        "sought",
        "spot",
        "spots",
        "way",
        "ways",
        "trip",
        "trips",
        "forget",
        "forgive",
        "hurry",
        "lateness",
        "sweep",
        "tidy",
        "torn",
        "loose",
        "lonely",
        "meet",
        "meets",
        "keep",
        "keeps",
        "kept",
        "judge",
        "judges",
        "begin",
        "begins",
        "begun",
        "outlook",
        "outlooks",
        "consequence",
        "consequences",
        "climb",
        "descent",
        "descend",
        "fold",
        "wakeful",
        "awake",
        "sleepy",
        "sheet",
        "sheets",
        "stairs",
        "wind",
        "winds",
        "reap",
        "lend",
        "borrow",
        "lot",
        "lots",
        "unruly",
        "useless",
        "discreet",
        "make",
        "makes",
        "made",
        "maker",
        "thing",
        "things",
    ]
)
# Nor does any variable, parameter or keyword argument have one of these.
PRIVATE_VARIABLES = frozenset(
    (
        *(
            "book",
            "crew",
            "door",
            "doors",
            "dealt",
            "errand",
            "errands",
            "hoard",
            "ledger",
            "ledgers",
        ),
        *("parcel", "parcels", "podium", "pulse", "purse", "shelf", "shelves", "sieve", "sieves"),
        *("station", "tell", "told", "whose", "wishes"),
    )
)
# (a pattern of the whole name, why the word belongs there)
ALLOWED = (
    (r"(TRY_)?CAST", "SQL"),
    (r".*cast_column", "Arrow's word for a change of type"),
    (r".*[rR]ound_?[tT]rip.*", "round trip"),
    (r"connection_made", "a method of asyncio.Protocol"),
)
# (file, name) of methods whose names a protocol of the standard library fixes.
FIXED = {("webapp/store/accounts/export.py", "tell")}
_SQL_NAME = re.compile(r"(?:\b(?:from|join|with|table|view|as)\s+)([a-z_]+)\b", re.IGNORECASE)


def product_files():
    listed = subprocess.check_output(["git", "ls-files", "*.py"], cwd=ROOT, text=True).split()
    return [
        name
        for name in listed
        if not name.startswith("tests/") and "/migrations/" not in name and (ROOT / name).exists()
    ]


def words_of(name):
    return {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)}


def names_in(tree):
    """(line, name) of classes, functions, SQL relations, and variables with a household word."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.lineno, node.name
        elif isinstance(node, ast.arg | ast.Name | ast.keyword):
            name = getattr(node, "id", None) or node.arg or ""
            if words_of(name) & PRIVATE_VARIABLES:
                yield node.lineno, name
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and re.search(r"\b(?:SELECT|FROM|WITH)\b", node.value)
        ):
            yield from ((node.lineno, name) for name in _SQL_NAME.findall(node.value))


def private_names(file, source):
    names = [(1, Path(file).stem), *names_in(ast.parse(source))]
    return [
        f"{file}:{line}: {name}"
        for line, name in names
        if words_of(name) & PRIVATE
        and (file, name) not in FIXED
        and not any(re.fullmatch(pattern, name) for pattern, _ in ALLOWED)
    ]


@pytest.mark.parametrize(
    "folder", sorted({name.split("/")[0] for name in product_files()}), ids=str
)
def test_no_name_is_a_private_word(folder):
    found = [
        line
        for name in product_files()
        if name.split("/")[0] == folder
        for line in private_names(name, (ROOT / name).read_text())
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "source",
    [
        "class Ledger: ...",
        "def _take_in(): ...",
        "def read(parcel): ...",
        "told = read(1)",
        'Q = "WITH told AS (SELECT 1) SELECT 2"',
    ],
)
def test_a_private_word_is_found(source):
    assert private_names("core/x.py", source)


def test_words_of_the_field_are_not():
    source = 'def round_trip(): ...\nQ = "SELECT CAST(a AS INT) FROM lookups"\nclass Glue: ...'
    assert not private_names("core/x.py", source)
