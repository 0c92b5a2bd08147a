"""Campaigns of synthetic vantage points over the API, one after the other, while machines fail.

A campaign that ends while processes are killed may have missed slots, each with its reason; no slot
may be without an end, and none may be stored twice. ``python -m benchmarks.service.campaign_load``
stores the vantage points and an account, and prints its token.
"""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import duckdb

from benchmarks.service.api_client import ApiClient
from benchmarks.service.background import Background

VANTAGES, ROUNDS, ROUND_S, SLOT_S = 4, 3, 15.0, 0.5
REGIONS = ("us-east-1", "us-west-2", "eu-west-1", "ap-northeast-1", "sa-east-1")
# Units are sent again for some minutes after the last round.
LIMIT_S = 600.0
FINAL = ("finished", "failed", "partial", "cancelled")


class Campaigns(Background):
    """A thread that runs campaigns; ``enter`` runs work on the machine that sends requests."""

    def __init__(
        self,
        addresses: Sequence[str],
        token: str,
        vantages: Sequence[str],
        enter: Callable[[Callable[[], Any]], Any],
    ) -> None:
        super().__init__(enter)
        self._client, self._vantages = ApiClient(addresses, token), vantages
        self.progress: dict[str, dict[str, Any]] = {}
        self.faults: list[str] = []

    def run(self) -> None:
        """Run campaigns until stopped."""
        while not self._stopped.is_set():
            self._measure(f"campaign-{len(self.progress)}")

    def _measure(self, key: str) -> None:
        found = self._client.ask("POST", "/api/v1/measurements", self._definition(key), key)
        address, deadline = f"/api/v1/measurements/{found['campaign']}", time.monotonic() + LIMIT_S
        while found["state"] not in FINAL and time.monotonic() < deadline:
            time.sleep(1)
            found = self._client.ask("GET", address)
        self.progress[found["campaign"]] = progress = found["progress"]
        ended = progress["ok"] + progress["failed"] + progress["missed"]
        if found["state"] not in FINAL or ended != progress["planned"]:
            self.faults.append(f"{key}: {found['state']}, {ended} of {progress['planned']} slots")

    def _definition(self, name: str) -> dict[str, Any]:
        activity = {"name": "ping", "probe": "tcp-ping", "slot_s": SLOT_S}
        targets = [
            {"host": f"{code}.synthetic.invalid", "provider": "aws", "region": code}
            for code in REGIONS
        ]
        schedule = {"round_s": ROUND_S, "rounds": ROUNDS, "activities": [activity]}
        return {
            "name": name,
            "schedule": schedule,
            "targets": targets,
            "vantages": list(self._vantages),
            "seed": len(self.progress),
        }

    def compare(self, lake: Path, parts: Callable[[str], Sequence[str]]) -> None:
        """Compare the slots of each campaign with its stored rows; ``parts`` are its manifest."""
        for campaign, progress in self.progress.items():
            folder = lake / "measurements" / campaign / "samples"
            paths = [str(folder / f"{part}.parquet") for part in parts(campaign)]
            rows: Counter[Any] = Counter()
            if paths:
                query = f"SELECT vantage, activity, round, slot FROM read_parquet({paths})"
                rows = Counter(duckdb.sql(query).fetchall())
            doubled, stored = rows.total() - len(rows), progress["ok"] + progress["failed"]
            if doubled or stored != len(rows):
                text = f"{doubled} doubled, {stored} counted and {len(rows)} stored"
                self.faults.append(f"{campaign}: {text}")

    def summary(self) -> str:
        """Return the slots of all campaigns by how they ended."""
        total: Counter[str] = Counter()
        for progress in self.progress.values():
            total.update({k: progress[k] for k in ("planned", "ok", "failed", "missed")})
        text = ", ".join(f"{count} {kind}" for kind, count in total.items())
        return f"campaigns: {len(self.progress)}, slots: {text}; {len(self.faults)} faults"


def main() -> None:
    """Store vantage points and an account; print its token and the names of vantage points."""
    import django  # noqa: PLC0415

    django.setup()
    from django.contrib.auth.models import User  # noqa: PLC0415  (after Django's setup)

    from tasks.demo.campaign import store_vantages  # noqa: PLC0415
    from testbed.campaigns.cities import CITIES  # noqa: PLC0415
    from webapp.store.access import tokens  # noqa: PLC0415

    store_vantages()
    _, secret = tokens.issue(User.objects.create_user("drill"), "drill", "write")
    print(secret, *(city.name for city in CITIES[:VANTAGES]))


if __name__ == "__main__":
    main()
