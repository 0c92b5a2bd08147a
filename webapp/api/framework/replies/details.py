"""Objects inside replies with fields that depend on what they describe.

A field that is ``NotRequired`` is absent where it has no meaning, instead of null. Further fields
may follow in ``Open`` objects: readers pass over what they do not know.
"""

from datetime import datetime
from typing import NotRequired

from pydantic import ConfigDict, JsonValue
from typing_extensions import TypedDict


class Open(TypedDict):
    """An object that may have more fields than the described ones."""

    __pydantic_config__ = ConfigDict(extra="allow")  # type: ignore[misc]


class StageTimes(TypedDict):
    """Time that a stage took, over all workers."""

    cpu_s: float
    wall_s: float


class NameCounts(TypedDict):
    """Names of a survey; ``failed`` counts by status."""

    asked: int
    resolved: int
    cloud: int
    failed: dict[str, int]


class SecondPassCounts(TypedDict):
    """Names that a vantage point resolved in the second pass."""

    asked: int
    resolved: int
    new_addresses: int
    failed: dict[str, int]


class RangeTableVersion(Open):
    """A range table that was in force."""

    provider: str
    as_of: str
    sha256: str


class PolicyVersion(TypedDict):
    """The policy that judged."""

    name: str
    version: int
    sha256: str


class AuditedSource(Open):
    """The survey that was judged, and its list of domains."""

    survey: NotRequired[str]


class Parameter(Open):
    """The JSON Schema of a rule's parameter."""

    title: NotRequired[str]
    type: NotRequired[str]
    description: NotRequired[str]
    default: NotRequired[JsonValue]


class LatencySource(Open):
    """Where latencies came from, and by which clients they were weighted."""

    kind: NotRequired[str]
    name: NotRequired[str]


class SolverProgress(TypedDict, total=False):
    """The step of a recommendation in work; empty before and after."""

    step: str
    done: int
    of: int


class SolverOptions(Open):
    """The options of a request that differ from the defaults, by their names."""

    k: NotRequired[int | str | None]


class VantageLimits(TypedDict, total=False):
    """What a vantage point allows; an absent limit is not set."""

    probes_per_s: float
    bytes_per_day: float
    from_hour: int
    to_hour: int


class NetworkCredits(Open):
    """What may be spent at a public network now.

    Globalping states tests of the hour (``free``, ``free_limit``, ``reset_s``); RIPE Atlas states
    what was spent in the last day. ``credits`` is null for an address without an account.
    """

    network: str
    credits: int | None
    free: NotRequired[int]
    free_limit: NotRequired[int]
    reset_s: NotRequired[int]
    spent_a_day: NotRequired[int]


class ProbePlace(Open):
    """Where a public network has probes: a probe of RIPE Atlas, or a place of Globalping."""

    country: str
    asn: int
    lat: float | None
    lon: float | None
    probe: NotRequired[int]
    probes: NotRequired[int]
    city: NotRequired[str]
    continent: NotRequired[str]
    network: NotRequired[str]


class EventDetail(Open):
    """Evidence of a change: the two sides, and figures of the test that found it."""

    before: NotRequired[str]
    after: NotRequired[str]
    audit: NotRequired[str]
    rule: NotRequired[str]
    severity: NotRequired[str]
    fingerprint: NotRequired[str]
    n_names: NotRequired[int]
    names: NotRequired[list[str]]
    p_value: NotRequired[float]
    error_rate: NotRequired[float]
    n_pairs: NotRequired[int]
    since: NotRequired[str]


class AlertPayload(Open):
    """The message of a webhook: its type, its time, and what it is about."""

    type: NotRequired[str]
    timestamp: NotRequired[datetime]
    data: NotRequired[dict[str, JsonValue]]


class ShareOfEnd(TypedDict):
    """What one vantage point or one target has of a campaign."""

    probes: int
    octets: int
    probes_per_day: int
    octets_per_day: int


class ActivityCost(TypedDict):
    """Runs of one activity, and what they send and receive."""

    activity: str
    probe: str
    rounds: int
    probes: int
    requests: int
    packets: int
    octets: int
    window_s: float
    clients: int


class PredictedCost(TypedDict, total=False):
    """What a campaign costs in all; ``credits`` are by public network."""

    probes: int
    requests: int
    packets: int
    octets: int
    duration_s: float
    rounds: int
    round_s: float
    groups: int
    vantages: int
    targets: int
    units: int
    activities: list[ActivityCost]
    per_vantage: ShareOfEnd
    per_target: ShareOfEnd
    credits: dict[str, int]


class PlannedActivity(Open):
    """A probe with its options, and when it runs in a round."""

    name: str
    probe: str
    options: dict[str, JsonValue]
    slot_s: NotRequired[float]
    clients: NotRequired[int]
    strict: NotRequired[bool]
    jitter: NotRequired[float]
    times: NotRequired[int]
    window_s: NotRequired[float]
    offsets_s: NotRequired[list[float]]


class PlannedSchedule(Open):
    """Rounds of a campaign and the activities of each."""

    round_s: NotRequired[float]
    rounds: NotRequired[int]
    groups: NotRequired[int]
    title: NotRequired[str]
    activities: NotRequired[list[PlannedActivity]]


class CoverageCounts(Open):
    """Slots by outcome; ``coverage`` is the share of ended ones that were measured."""

    planned: NotRequired[int]
    ok: NotRequired[int]
    failed: NotRequired[int]
    missed: NotRequired[int]
    done: NotRequired[int]
    coverage: NotRequired[float | None]


class VantageCounts(TypedDict):
    """Vantage points of a campaign, and those with a measured slot."""

    of: int
    heard: int


class CampaignSummary(Open):
    """Coverage, reasons of failed and missed slots, rows by table, and vantage points.

    Empty before the end.
    """

    coverage: NotRequired[CoverageCounts]
    reasons: NotRequired[dict[str, dict[str, int]]]
    rows: NotRequired[dict[str, int]]
    vantages: NotRequired[VantageCounts]


class StallRate(Open):
    """Stalls in 100 s with an interval."""

    count: int
    seconds: float
    per_100s: float | None
    low: float | None
    high: float | None


class CpuFigures(Open):
    """Sleeps on one virtual CPU."""

    cpu: NotRequired[int]
    mode: NotRequired[str]
    seconds: NotRequired[float]
    wakeups: NotRequired[int]
    stalls_10ms: NotRequired[int]
    p50_us: NotRequired[float | None]
    p99_us: NotRequired[float | None]
    p999_us: NotRequired[float | None]
    max_us: NotRequired[float | None]


class ReportSummary(Open):
    """The verdict of a report with its figures and reasons."""

    seconds: NotRequired[float]
    agent_version: NotRequired[str]
    notes: NotRequired[list[str]]
    rate: NotRequired[StallRate | None]
    p999_ms: NotRequired[float | None]
    sure: NotRequired[bool]
    chances: NotRequired[dict[str, float]]
    reasons: NotRequired[list[str]]
    n_cpus: NotRequired[int]
    cpus: NotRequired[list[CpuFigures]]


class LatencySeries(Open):
    """Quantiles of one series of a log in its unit, and its verdict."""

    name: NotRequired[str]
    kind: NotRequired[str]
    samples: NotRequired[int]
    p50: NotRequired[float | None]
    p99: NotRequired[float | None]
    p999: NotRequired[float | None]
    p9999: NotRequired[float | None]
    max: NotRequired[float | None]
    unit: NotRequired[str]
    verdict: NotRequired[str]
    reasons: NotRequired[list[str]]
    curve: NotRequired[list[list[float]]]


class FindingFigures(Open):
    """A headline with its figures and ``n``, or the ``reason`` why there are none."""

    headline: NotRequired[str]
    n: NotRequired[int]
    reason: NotRequired[str]


class CallFigures(Open):
    """Calls from one machine to another at one rate (calls per second).

    A call without a reply is lost; ``late`` calls began after their time. ``p999_ms`` is from the
    histogram and null without one.
    """

    rate: int
    seconds: float
    calls: int
    answered: int
    lost: int
    late: int
    over_10ms: int
    p50_us: float
    p99_us: float
    p999_us: float
    max_us: float
    p999_ms: float | None


class Host(Open):
    """The machine as its agent describes it."""

    name: NotRequired[str]
    cpu_model: NotRequired[str]
    vcpus: NotRequired[int]
    kernel: NotRequired[str]
    hypervisor: NotRequired[str]


class CaptureQuality(Open):
    """What a capture lost or could not state, in counts.

    Flows by the basis of their size, the first and last hour, and rows of ``http``, ``ssl`` and
    ``dns`` logs without a connection in a conn log (``unmatched``).
    """

    flows: NotRequired[int]
    sized_on_the_wire: NotRequired[int]
    sized_by_payload: NotRequired[int]
    sized_by_bodies: NotRequired[int]
    unsized: NotRequired[int]
    missed_bytes: NotRequired[int]
    first_hour: NotRequired[str | None]
    last_hour: NotRequired[str | None]
    without_time: NotRequired[int]
    clients: NotRequired[int]
    unmatched: NotRequired[dict[str, int]]
