"""The parts of the demo in the order in which they are made: what the front page shows is first.

Each part is made once. What was made is kept in a file, so that an interrupted demo
resumes, and deleted parts are not made again.
"""

import json
import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

from core.errors import NephoscopeError
from core.files import replace_file
from tasks.campaigns import best_sets
from tasks.demo import answers, campaign, pool, surveys, traffic, zones
from tasks.simulations.celery_tasks import start_published
from tasks.surveys import worlds
from tasks.surveys.worlds import WorldOptions
from webapp.store.models import Campaign, Survey

log = logging.getLogger(__name__)
_FILE = "demo.json"


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the demo; ``make`` returns a line about it, empty where nothing was made."""

    name: str
    make: Callable[[], str]


class _Demo:
    """What is made of one emulated world; each method makes a part and returns a line about it."""

    def __init__(self, options: WorldOptions) -> None:
        self._options = options
        self._world = worlds.create_world(options)

    def observe_earlier(self) -> str:
        found = surveys.observe_earlier(self._world, self._options)
        return f"{found.name}: {found.n_domains:,} domains of the emulated Internet"

    def measure(self) -> str:
        made = campaign.build_demo()
        return f"{made.name}: a synthetic measurement" if made else ""

    def place_in_zones(self) -> str:
        n = zones.store_vantages(self._world)
        return f"{n} synthetic vantage points in zones of {zones.REGION}"

    def solve(self) -> str:
        best_sets.build(Campaign.objects.get(slug=campaign.SLUG), "latency")
        return f"best region sets of {campaign.NAME}"

    def start_survey(self) -> str:
        return f"{surveys.start_survey(self._world).name}: a survey has started"

    def recommend_for_tenant(self) -> str:
        survey = surveys.observe_tenant(self._world, self._options)
        return answers.recommend_for_domains(survey)

    def build_pool(self) -> str:
        return f"{pool.build_pool().name}: a pool with verdicts"

    def import_capture(self) -> str:
        return f"{traffic.import_capture(self._world)['name']}: an emulated capture"

    def finish_survey(self) -> str:
        found = surveys.wait_for(_find(surveys.NAME))
        surveys.attach_external(found, self._world)
        return f"{found.name} {found.state}, with availability zones and countries of customers"

    def compare(self) -> str:
        surveys.compare(_find(surveys.EARLIER_NAME), _find(surveys.NAME))
        return "both surveys compared"

    def audit(self) -> str:
        return answers.audit(_find(surveys.NAME))

    def run_experiments(self) -> str:
        return f"{len(start_published())} experiments are running"


def list_parts(options: WorldOptions) -> list[Part]:
    """All parts of the demo of a world, in order."""
    demo = _Demo(options)
    return [
        Part("earlier-survey", demo.observe_earlier),
        Part("campaign", demo.measure),
        Part("zone-vantages", demo.place_in_zones),
        Part("best-sets", demo.solve),
        Part("recommendation-clients", answers.recommend_for_clients),
        Part("survey", demo.start_survey),
        Part("recommendation-domains", demo.recommend_for_tenant),
        Part("pool", demo.build_pool),
        Part("capture", demo.import_capture),
        Part("survey-end", demo.finish_survey),
        Part("comparison", demo.compare),
        Part("audit", demo.audit),
        Part("experiments", demo.run_experiments),
    ]


def _find(name: str) -> Survey:
    return Survey.objects.get(name=name, owner=None)


def is_wanted() -> bool:
    """Whether the store is new, or holds a demo that was begun."""
    return _path().is_file() or not (Survey.objects.exists() or Campaign.objects.exists())


def build(parts: Sequence[Part]) -> Iterator[str]:
    """Make the parts that were not made yet; yields a line each.

    What fails is left out and tried at the next start: the site is complete without it.
    """
    made = _read()
    _write(made)
    for part in parts:
        if part.name in made:
            continue
        try:
            line = part.make()
        except NephoscopeError as error:
            yield f"{part.name} was not made: {error}"
            continue
        except Exception as error:
            log.exception("the part %s of the demo was not made", part.name)
            yield f"{part.name} was not made: {error}"
            continue
        made.append(part.name)
        _write(made)
        if line:
            yield line


def _path() -> Path:
    return Path(settings.DATA_DIR) / _FILE


def _read() -> list[str]:
    try:
        return list(json.loads(_path().read_text(encoding="utf-8"))["parts"])
    except FileNotFoundError:
        return []


def _write(made: Sequence[str]) -> None:
    with replace_file(_path()) as temporary:
        temporary.write_text(json.dumps({"parts": list(made)}), encoding="utf-8")
