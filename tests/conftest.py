"""Settings of all tests: what they share, and in what order they begin."""

import fcntl
import gc
import os
import shutil
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from execnet import XSpec
from hypothesis import settings as hypothesis_settings
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

from tests import forks
from tests.examples import THOROUGH, examples
from tests.stores import migrated_store

# A busy machine, or a first compilation, says nothing about whether a test is right.
# Whatever needs more examples than this says so itself.
# ``make test`` draws the same examples each time, so that its result is that of the commit;
# ``make thorough`` draws new ones, and shows how to repeat one that fails.
hypothesis_settings.register_profile(
    "patient",
    deadline=None,
    derandomize=not THOROUGH,
    max_examples=examples(60),
    print_blob=True,
)
hypothesis_settings.load_profile("patient")


# The property of a test under which a journey records its decisions, fields, keys and seconds.
JOURNEY = "journey"
_HERE = Path(__file__).parent
# The tests of a folder share a Chromium with a filled site, or namespaces: one process runs them.
SHARED_FOLDERS = {
    "browser": pytest.mark.browser,
    "journey": pytest.mark.browser,
    "testbed/namespaces": pytest.mark.root,
}
# As long as all others of its folder together, so it has a browser and a site of its own.
APART = "browser/test_every_page.py"
# Of each log that a failed test shows.
_LOG_TAIL_BYTES = 3_000
_SHARES = "PYTEST_XDIST_WORKER" in os.environ


def pytest_configure(config: pytest.Config) -> None:
    """All processes of a run share what forks theirs."""
    forks.start_server()


def find_shared_folder(path: str) -> str:
    """Return the shared folder that holds a path below ``tests``, or the empty text."""
    return next((folder for folder in SHARED_FOLDERS if path.startswith(folder + "/")), "")


class FileScheduling(LoadScopeScheduling):
    """Assign whole files to a process, and whole folders whose tests share a browser and a site.

    The ``loadgroup`` of pytest-xdist 3.8 appends groups to an attribute of items that pytest 9.2
    no longer reads, and without them it assigns each test alone.
    """

    def _split_scope(self, nodeid: str) -> str:
        path = nodeid.partition("::")[0].removeprefix("tests/")
        return path if path == APART else find_shared_folder(path) or path

    def remove_node(self, node: WorkerController) -> str | None:
        """Return the test at which a process crashed, and assign the others of its units.

        That of pytest-xdist assigns complete units, too: a process that gets only these reports
        nothing, and the run never ends.
        """
        units = self.assigned_work.pop(node)
        left = {scope: unit for scope, unit in units.items() if not all(unit.values())}
        if not left:
            return None
        first = next(iter(left.values()))
        crashed = next(test for test, is_done in first.items() if not is_done)
        first[crashed] = True
        self.workqueue.update({s: unit for s, unit in left.items() if not all(unit.values())})
        for other in self.assigned_work:
            self._reschedule(other)
        return crashed


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> FileScheduling:
    return FileScheduling(config, log)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print what the journeys cost their reader; without xdist, too, it is the end of the run."""
    reports = [r for group in terminalreporter.stats.values() for r in group]
    found = [
        text
        for report in reports
        for name, text in getattr(report, "user_properties", ())
        if name == JOURNEY and report.when == "call"
    ]
    if found:
        terminalreporter.section("journeys by keyboard alone")
        terminalreporter.write_line("\n".join(sorted(found)))


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings_parallel_suffix: None) -> None:
    """The store of one of several processes is a copy of the one that all of them share."""
    database = settings.DATABASES["default"]
    if _SHARES and database["ENGINE"].endswith("sqlite3"):
        shutil.copy(migrated_store(), database["TEST"]["NAME"])


@pytest.fixture(scope="session")
def django_db_keepdb() -> bool:
    """Keep the copy where tests begin; it ends with the folder of the process."""
    return _SHARES


@pytest.fixture
def physical_cpus(tmp_path_factory: pytest.TempPathFactory) -> Generator[None, Any, None]:
    """The CPUs of this machine for one test at a time: its neighbours are real-time processes."""
    folder = tmp_path_factory.getbasetemp()
    with ((folder.parent if _SHARES else folder) / "physical_cpus.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def pytest_collection_finish() -> None:
    """What is imported by now stays: no search for garbage goes through it again."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure() -> None:
    """Let the end of the interpreter free what stayed: DuckDB lists what it cannot."""
    gc.unfreeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes(specs: list[XSpec]) -> None:
    """Workers are forks, so that each does not import the libraries anew."""
    for n, spec in enumerate(specs):
        specs[n] = XSpec(f"{spec}//python={sys.executable} -m tests.worker")
        specs[n].id = spec.id


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of shared folders; begin with those, then with what waits for processes."""
    for item in items:
        if folder := find_shared_folder(item.path.relative_to(_HERE).as_posix()):
            item.add_marker(SHARED_FOLDERS[folder])
    items.sort(key=lambda item: (_find_turn(item), item.path))


def _find_turn(item: pytest.Item) -> int:
    if find_shared_folder(item.path.relative_to(_HERE).as_posix()):
        return 0
    return 1 if item.get_closest_marker("services") else 2


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, Any]:
    """Add the end of the logs of a site's processes to the report of a failed test."""
    report = yield
    if report.failed:
        for site in getattr(item, "funcargs", {}).values():
            folder = getattr(site, "folder", None)
            for log in sorted(folder.glob("logs/*.log")) if isinstance(folder, Path) else ():
                if text := log.read_bytes()[-_LOG_TAIL_BYTES:].decode(errors="replace"):
                    report.sections.append((log.name, text))
    return report
