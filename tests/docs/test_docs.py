import re
from pathlib import Path

import pytest

from core.tables import SPECS

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
TEXT = "\n".join(p.read_text() for p in PAGES)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_relative_links_resolve(page):
    for target in re.findall(r"\]\(([^)#\s]+)", page.read_text()):
        if not target.startswith(("http:", "https:", "mailto:")):
            assert (page.parent / target).exists(), target


def test_every_command_is_documented():
    reference = (ROOT / "docs" / "reference" / "commands.md").read_text()
    for path in (ROOT / "webapp" / "console" / "management" / "commands").glob("[a-z]*.py"):
        assert f"`{path.stem}" in reference, path.stem


def test_every_setting_is_documented():
    reference = (ROOT / "docs" / "reference" / "settings.md").read_text()
    names = re.findall(r"\"((?:NEPHOSCOPE_|DATABASE_|REDIS_)[A-Z_]+)\"", code())
    assert len(names) > 8
    for name in names:
        assert f"`{name}`" in reference, name


def code():
    paths = [ROOT / "webapp" / "settings.py", ROOT / "tasks" / "app.py"]
    return "\n".join(p.read_text() for p in paths)


def test_every_table_has_a_method_page():
    for spec in SPECS:
        text = (ROOT / "docs" / "methods" / f"{spec.id}.md").read_text()
        for column in spec.columns:
            assert f"`{column}`" in text, (spec.id, column)


def test_every_make_target_is_documented_and_every_documented_one_exists():
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z-]+):.*## ", makefile, re.MULTILINE))
    for target in targets:
        assert f"make {target}" in TEXT, target
    for target in re.findall(r"`make ([a-z-]+)", TEXT):
        assert target in targets, target
