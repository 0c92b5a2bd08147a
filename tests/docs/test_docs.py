import re
from importlib import import_module
from pathlib import Path

import pytest
from django.core.management import get_commands, load_command_class

from core.release import VERSION
from core.report_tables import SPECS
from lake.schemas import SCHEMAS
from webapp.api.routes import api
from webapp.console.parser import QUIET

ROOT = Path(__file__).resolve().parents[2]
NOT_OURS = {"node_modules", "var", ".venv", ".pytest_cache"}
PAGES = [
    p
    for p in (*ROOT.glob("*.md"), *ROOT.glob("*/README.md"), *ROOT.glob("docs/**/*.md"))
    if not NOT_OURS & set(p.relative_to(ROOT).parts)
]
TEXT = "\n".join(p.read_text() for p in PAGES)
# Drawn from the running product, and not tracked.
MAY_BE_MISSING = {ROOT / "docs" / "images" / "atlas.png"}
# What the tour quotes beside code.
FACTS_OF_THE_TOUR = {"shop.example", "www.shop.example", "aws", "elb", "regions"}
# Options that every command has from Django or from webapp.console.
DJANGOS_OPTIONS = {*QUIET, "--help", "--json"}


def reference(name):
    return (ROOT / "docs" / "reference" / f"{name}.md").read_text()


def anchors(text):
    """The anchors that headings get."""
    heads = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in heads}


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_relative_links_resolve(page):
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    for target, anchor in re.findall(r"\]\(([^)#\s]*)#?([^)\s]*)\)", text):
        if target.startswith(("http:", "https:", "mailto:")):
            continue
        path = (page.parent / target).resolve() if target else page
        assert path.exists() or path in MAY_BE_MISSING, target
        assert not anchor or anchor in anchors(path.read_text()), f"{target}#{anchor}"


def test_every_page_is_linked_from_another():
    linked = {
        (page.parent / target).resolve()
        for page in PAGES
        for target in re.findall(r"\]\(([^)#\s]+)", page.read_text())
    }
    alone = [p for p in ROOT.glob("docs/**/*.md") if p not in linked]
    assert alone == []


def parsers(parser):
    """A parser and those of its actions."""
    yield parser
    for action in parser._actions:
        if isinstance(action.choices, dict):
            yield from action.choices.values()


def our_commands():
    return [name for name, app in get_commands().items() if app == "webapp.console"]


def test_every_command_and_option_is_documented():
    text = reference("commands")
    assert len(our_commands()) > 5
    for name in our_commands():
        assert re.search(rf"^## `{name}\b", text, re.MULTILINE), name
        command = load_command_class("webapp.console", name)
        for parser in parsers(command.create_parser("manage.py", name)):
            options = {o for a in parser._actions for o in a.option_strings if o.startswith("--")}
            for option in options - DJANGOS_OPTIONS:
                assert f"`{option}" in text or f", `{option}" in text, (name, option)


def test_every_setting_is_documented():
    named = ("webapp/settings.py", "tasks/platform/app.py")
    paths = [*ROOT.glob("deploy/*.py"), *(ROOT / name for name in named)]
    code = "\n".join(p.read_text() for p in paths)
    names = set(re.findall(r"\"((?:NEPHOSCOPE_|DATABASE_|REDIS_)[A-Z_]+)\"", code))
    names |= set(re.findall(r"environ\.get\(\"(WORLD|SCALE|PORT|TESTBED_PORT)\"", code))
    makefile = (ROOT / "Makefile").read_text()
    names |= set(re.findall(r"^([A-Z]+) \?=", makefile, re.MULTILINE))
    assert len(names) > 15
    for name in names:
        assert f"| `{name}` |" in reference("settings"), name


def test_no_setting_is_documented_that_nothing_reads():
    code = "\n".join(
        p.read_text()
        for folder in ("webapp", "tasks", "deploy", "tests")
        for p in (ROOT / folder).rglob("*.py")
    )
    for name in re.findall(r"NEPHOSCOPE_[A-Z_]+", TEXT):
        assert f'"{name}"' in code, name


def test_every_table_has_a_method_page():
    for spec in SPECS:
        text = (ROOT / "docs" / "methods" / f"{spec.id}.md").read_text()
        for column in spec.columns:
            assert f"`{column}`" in text, (spec.id, column)
        assert spec.source in text, spec.id
        assert "**Limits.**" in text, spec.id


def test_every_column_of_the_lake_is_documented():
    text = reference("lake")
    for table, schema in SCHEMAS.items():
        assert f"## `{table}`" in text, table
        for column in schema.names:
            assert f"`{column}`" in text, (table, column)


def test_every_address_of_the_api_is_documented():
    text = reference("api")
    for path in api.get_openapi_schema()["paths"]:
        short = path.removeprefix("/api/v1")
        for field, word in (("slug", "ID"), ("table", "TABLE"), ("domain", "DOMAIN")):
            short = short.replace(f"{{{field}}}", word)
        assert short.replace("{name}", "NAME") in text, path


def test_every_make_target_is_documented_and_every_documented_one_exists():
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z-]+):.*## ", makefile, re.MULTILINE))
    for target in targets:
        assert f"make {target}" in TEXT, target
    for target in re.findall(r"`make ([a-z-]+)", TEXT):
        assert target in targets, target


def test_the_tour_names_existing_code():
    tour = (ROOT / "docs" / "tour.md").read_text()
    code = "\n".join(
        p.read_text()
        for folder in ("core", "lake", "crawlers", "cartography", "analysis", "tasks", "webapp")
        for p in (ROOT / folder).rglob("*.py")
    )
    for quoted in re.findall(r"`([a-z_./]*[:.]?[A-Za-z_.]+)`", tour):
        word = re.split(r"[.:/]", quoted)[-1]
        known = (ROOT / quoted).exists() or re.search(rf"(def|class) {word}\b", code)
        assert known or quoted in FACTS_OF_THE_TOUR, quoted


def test_folders_of_the_readme_exist():
    readme = (ROOT / "README.md").read_text()
    table = readme[readme.index("## What is where") : readme.index("## Measurement ethics")]
    folders = re.findall(r"^\| (.+?) \|", table, re.MULTILINE)
    for folder in re.findall(r"`([a-z]+)/`", " ".join(folders)):
        assert (ROOT / folder).is_dir(), folder
    assert readme.count("\n") <= 150


def test_readmes_of_stages_have_an_example():
    for stage in ("crawlers", "cartography", "analysis", "testbed", "tasks"):
        text = (ROOT / stage / "README.md").read_text()
        assert "```python" in text, stage
        assert import_module(stage).__name__ == stage


def test_the_version_is_the_first_of_the_changelog():
    first = re.search(r"^## (\S+?),? ", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert first[1] == VERSION


def test_every_threat_names_tests_that_exist():
    text = (ROOT / "docs" / "security.md").read_text()
    section = text.split("## Threat model")[1].split("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| ")][1:]
    assert len(rows) >= 15
    for row in rows:
        named = re.findall(r"`([\w/]+\.py)::(test_\w+)`", row.rstrip(" |").rpartition("|")[2])
        assert named, f"no test is named for: {row}"
        for file, test in named:
            assert f"def {test}(" in (ROOT / "tests" / file).read_text(), f"{file}::{test}"
