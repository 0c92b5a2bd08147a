import ast
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def list_index(*words):
    """Entries of the index, as ``git ls-files`` prints them."""
    try:
        done = subprocess.run(
            ["git", "ls-files", "-z", *words], cwd=ROOT, capture_output=True, text=True
        )
    except FileNotFoundError:
        pytest.skip("git is not installed")
    if done.returncode or not done.stdout:
        pytest.skip("this is not a git checkout")
    return done.stdout.rstrip("\0").split("\0")


def tracked():
    return [ROOT / name for name in list_index() if (ROOT / name).is_file()]


def test_no_symbolic_link_is_tracked():
    # A link leads to a path of one machine, and set-up would write to where .venv leads.
    assert [entry for entry in list_index("--stage") if entry.startswith("120000")] == []


def product_code():
    return [
        p
        for p in tracked()
        if p.suffix == ".py"
        and "migrations" not in p.parts
        and p.relative_to(ROOT).parts[0] not in ("tests", "benchmarks")
    ]


def test_functions_are_short():
    sizes = sorted(
        node.end_lineno - node.lineno + 1
        for path in product_code()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    assert sizes[len(sizes) // 2] <= 10
    assert sizes[len(sizes) * 9 // 10] <= 30


def test_modules_are_short():
    long = {p.name: n for p in product_code() if (n := p.read_text().count("\n")) > 400}
    assert long == {}


def test_lines_of_templates_are_short():
    lines = [
        line
        for path in tracked()
        if path.suffix == ".html" and path.is_relative_to(ROOT / "templates")
        for line in path.read_text().split("\n")
    ]
    # A template tag cannot be broken, and neither can what shows without a space between.
    assert sum(len(line) > 120 for line in lines) <= 160
    assert max(map(len, lines)) <= 350


def test_lock_files_name_no_address():
    locks = [path.name for path in (ROOT / "requirements").glob("*.lock")]
    for name in (*(f"requirements/{lock}" for lock in locks), "package-lock.json"):
        assert "://" not in (ROOT / name).read_text(), name


def test_no_third_party_or_large_file_is_committed():
    for path in tracked():
        assert path.stat().st_size <= 2_000_000, path
        if path.suffix in (".js", ".css"):
            assert ".min." not in path.name, path
            assert max(map(len, path.read_text().split("\n"))) <= 2_000, path


def test_no_file_names_a_place_of_one_machine():
    place = re.compile(r"(?<![\w./-])/(work|home|root|Users)/")
    for path in tracked():
        try:
            text = path.read_text()
        except UnicodeDecodeError:
            continue
        if path != Path(__file__):
            assert not place.search(text), path
