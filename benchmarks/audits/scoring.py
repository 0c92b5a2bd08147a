"""Findings beside what was planted, by rule, and evidence looked up in the lake."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

THIN = "thin-data"
Key = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Score:
    """One rule: (domain, discriminator) that were planted, and what became of them.

    ``unjudged`` counts planted ones that could not be judged, ``open_domains`` all domains for
    which the rule gave no judgement.
    """

    rule: str
    planted: int
    found: int
    right: int
    unjudged: int
    open_domains: int

    @property
    def missed(self) -> int:
        """Planted ones that were judged and not found."""
        return self.planted - self.right - self.unjudged

    @property
    def extra(self) -> int:
        """Findings that were not planted."""
        return self.found - self.right

    @property
    def precision(self) -> float | None:
        """The share of the findings that were planted."""
        return self.right / self.found if self.found else None

    @property
    def recall(self) -> float | None:
        """The share of what was planted, and could be judged, that was found."""
        observable = self.right + self.missed
        return self.right / observable if observable else None


def score_rules(
    report: dict[str, Any], planted: Iterable[Key], rules: Iterable[str]
) -> list[Score]:
    """The score of each rule of a JSON report."""
    found = {_key(row) for row in report["findings"]}
    unjudged = {_key(row) for row in report["not_judged"]}
    thin = {subject for rule, subject, _ in unjudged if rule == THIN}
    # Data too thin to judge are reported in this way and no other.
    found |= {(THIN, subject, "") for subject in thin}
    wanted = set(planted)
    return [_score(rule, wanted, found, unjudged, thin) for rule in sorted(rules)]


def _score(
    rule: str, planted: set[Key], found: set[Key], unjudged: set[Key], thin: set[str]
) -> Score:
    wanted = {key for key in planted if key[0] == rule}
    seen = {key for key in found if key[0] == rule}
    lost = wanted - seen
    open_domains = {subject for name, subject, _ in unjudged if name == rule} | thin
    # A judgement that is missing for one region excuses no miss in another.
    n_unjudged = sum(
        key[1] in thin or key in unjudged or (key[0], key[1], "") in unjudged for key in lost
    )
    return Score(rule, len(wanted), len(seen), len(wanted & seen), n_unjudged, len(open_domains))


def _key(row: dict[str, Any]) -> Key:
    return row["rule"], row["subject"], row["discriminator"]


def table_of(scores: Iterable[Score]) -> str:
    """The scores as a table of Markdown."""
    columns = ("rule", "planted", "found", "precision", "recall", "planted, could not judge")
    head = f"| {' | '.join(columns)} | domains not judged |"
    rows = [
        f"| `{s.rule}` | {s.planted or '–'} | {s.found} | {_share(s.precision)} | "
        f"{_share(s.recall)} | {s.unjudged} | {s.open_domains} |"
        for s in scores
    ]
    return "\n".join([head, "|---|" + "---:|" * 6, *rows])


def _share(value: float | None) -> str:
    return "could not judge" if value is None else f"{value:.1%}"


class Lake:
    """Observations of a survey and of a campaign, in which evidence is looked up.

    Evidence of a campaign names the vantage point and the region as its rows do, and the round.
    """

    def __init__(self, survey: Path, campaign: Path) -> None:
        self._survey, self._campaign = survey, campaign
        self._known: dict[str, set[tuple[str, ...]]] = {}

    def unresolved(self, report: dict[str, Any]) -> list[str]:
        """Findings without evidence, or with evidence that refers to a missing row."""
        return [
            f"{row['id']}: {row['evidence'] or 'none'}"
            for row in report["findings"]
            if not row["evidence"] or not all(map(self._has, row["evidence"]))
        ]

    def _has(self, item: dict[str, str]) -> bool:
        table = item["table"]
        if table in ("samples", "paths"):
            row = tuple(item.get(column, "") for column in ("vantage", "region", "round"))
            return self._campaign.name in item["detail"] and row in self._rows(table)
        values = tuple(item.get(column, "") for column in ("domain", "name", "address"))
        if table == "zones":
            # A zone is of an address, whatever name it serves.
            return (values[2],) in self._rows("zones")
        known = self._rows(table)
        given = (*(value if table != "domains" else "" for value in values[1:]),)
        return (values[0], *given) in known

    def _rows(self, table: str) -> set[tuple[str, ...]]:
        if table not in self._known:
            self._known[table] = self._read(table)
        return self._known[table]

    def _read(self, table: str) -> set[tuple[str, ...]]:
        root = self._campaign if table in ("samples", "paths") else self._survey
        paths = sorted(str(path) for path in (root / table).rglob("*.parquet"))
        if not paths:
            return set()
        found = duckdb.read_parquet(paths)
        if table == "zones":
            return set(found.select("address").distinct().fetchall())
        if table in ("samples", "paths"):
            sql = "SELECT DISTINCT vantage, region, round::VARCHAR FROM found"
            rows = set(duckdb.sql(sql).fetchall())
            return rows | {(vantage, region, "") for vantage, region, _ in rows}
        name = {"servers": "server", "domains": "''"}.get(table, "name")
        address = "address" if "address" in found.columns else "''"
        sql = f"SELECT DISTINCT domain, {name}, coalesce({address}, '') FROM found"
        rows = set(duckdb.sql(sql).fetchall())
        # Evidence gives as much of a row as separates it: a domain, a name, or all three.
        return rows | {(d, n, "") for d, n, _ in rows} | {(d, "", "") for d, *_ in rows}
