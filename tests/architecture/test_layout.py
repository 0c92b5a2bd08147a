"""Folders of a readable size, packages that say what they are for, and no dead module."""

import ast
import tomllib
from pkgutil import iter_modules

import grimp
import pytest

from analysis.campaigns.probe_reports import kinds as probe_kinds
from analysis.reporting import tables
from core.paths import PROJECT
from core.providers import PROVIDERS

PACKAGES = tomllib.loads((PROJECT / "pyproject.toml").read_text())["tool"]["importlinter"][
    "root_packages"
]
# One module per command, per migration; set-up and the local run.
APART = {"webapp/console/management/commands", "webapp/store/migrations"}
MOST_MODULES = 15
# What starts without being imported: commands, the sites' handlers, Celery's tasks, programs that
# are run with ``-m``, what Django loads by name.
ENTRIES = (
    "webapp.console.management.commands",
    "webapp.store.migrations",
    "webapp.pages.templatetags",
    "webapp.urls",
    "webapp.asgi",
    "webapp.server",
    "webapp.handlers",
    "webapp.access_log",
    "webapp.console.overview",
    "webapp.settings",
    "webapp.store.apps",
    "webapp.store.postgresql.base",
    "webapp.pages.apps",
    "webapp.console.apps",
    "tasks.platform.app",
    "tasks.vantage.joining",
    "tasks.app",
    "tasks.joining",
    "screening.agent",
    "screening.bundle",
    "testbed.namespaces.namespace_exec",
)
# Loaded by name: at the first use, since it imports a compiler, as the reader of a provider,
# or as a report.
BY_NAME = (
    {"cartography.addresses.kernels"}
    | {f"cartography.ranges.providers.{provider}" for provider in PROVIDERS}
    | {
        module.name
        for folder in (tables, probe_kinds)
        for module in iter_modules(folder.__path__, f"{folder.__name__}.")
    }
)


def folders():
    for package in PACKAGES:
        for folder in sorted((PROJECT / package).rglob("__init__.py")):
            yield folder.parent.relative_to(PROJECT)


@pytest.mark.parametrize("folder", list(folders()), ids=str)
def test_a_package_is_small_and_says_what_it_is_for(folder):
    modules = [path for path in (PROJECT / folder).glob("*.py") if path.name != "__init__.py"]
    if folder.as_posix() in APART:
        return
    assert len(modules) <= MOST_MODULES
    introduction = ast.get_docstring(ast.parse((PROJECT / folder / "__init__.py").read_text()))
    assert introduction or (PROJECT / folder / "README.md").exists()


def test_every_module_is_reached_from_an_entry_point():
    graph = grimp.build_graph(*PACKAGES)
    strings = {
        node.value
        for package in PACKAGES
        for path in (PROJECT / package).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and "." in node.value
    }
    # Django and Celery are given names of modules, or of what is in them.
    strings |= {value.rpartition(".")[0] for value in strings}
    reached = set()
    waiting = {m for m in graph.modules if m.startswith(ENTRIES) or m in BY_NAME | strings}
    while waiting:
        module = waiting.pop()
        if module not in reached:
            reached.add(module)
            waiting |= graph.find_modules_directly_imported_by(module)
    packages = {".".join(folder.parts) for folder in folders()}
    assert graph.modules - reached - packages == set()
