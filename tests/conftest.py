"""Settings of all tests: which of them run alone, and in what order the others begin."""

import gc
import shutil
import sys
from pathlib import Path

import pytest
from django.conf import settings
from execnet import XSpec
from hypothesis import settings as hypothesis_settings
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from tests import forks
from tests.examples import examples
from tests.stores import migrated_store

# A busy machine, or a first compilation, says nothing about whether a test is right.
# Whatever needs more examples than this says so itself.
hypothesis_settings.register_profile("patient", deadline=None, max_examples=examples(60))
hypothesis_settings.load_profile("patient")

_HERE = Path(__file__).parent
# Folders whose tests share a browser, a site or a laboratory, so that one process has them all.
_TOGETHER = ("browser", "journey", "testbed/namespaces")
# What takes longest begins first, so that nobody waits for a last one; what waits for workers and
# brokers is among them, since it leaves the processor to others.
_FIRST = (
    "browser",
    "testbed/namespaces",
    "console/test_survey.py",
    "tasks/campaigns/test_campaign_workers.py",
    "tasks/vantages/test_vantages.py",
    "journey",
    "tasks/vantages/test_joining.py",
    "tasks/surveys/test_workers.py",
    "tasks",
    "api",
    "console",
    "crawlers/enumeration/test_enumeration.py",
    "analysis/optimization/test_exact.py",
    "analysis/campaigns/test_ripe_atlas.py",
    "analysis/deployment/test_recount.py",
    "pages",
    "tenants",
    "screening",
    "cartography",
)


def pytest_configure(config: pytest.Config) -> None:
    """All processes of a run share what forks theirs."""
    forks.start_server()


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings_parallel_suffix: None) -> None:
    """The test store is a copy of the one that all processes of a run share."""
    database = settings.DATABASES["default"]
    if database["ENGINE"].endswith("sqlite3"):
        shutil.copy(migrated_store(), database["TEST"]["NAME"])


@pytest.fixture(scope="session")
def django_db_keepdb() -> bool:
    """Keep the copy where tests begin; it ends with the folder of the process."""
    return True


def pytest_collection_finish() -> None:
    """What is imported by now stays: no search for garbage goes through it again."""
    gc.collect()
    gc.freeze()


class Companies(LoadScopeScheduling):
    """Each process gets whole files, or all files of a folder whose tests share their set-up."""

    def _split_scope(self, nodeid: str) -> str:
        place = nodeid.partition("::")[0]
        inside = place.removeprefix("tests/")
        return next((folder for folder in _TOGETHER if inside.startswith(folder + "/")), place)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes(specs: list[XSpec]) -> None:
    """Workers are forks, so that each does not import the libraries anew."""
    specs[:] = [XSpec(f"{spec}//python={sys.executable} -m tests.worker") for spec in specs]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Companies:
    return Companies(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: _find_turn(item.path.relative_to(_HERE).as_posix()))


def _find_turn(place: str) -> tuple[int, str]:
    turn = next((n for n, own in enumerate(_FIRST) if place.startswith(own)), len(_FIRST))
    return turn, place
