"""Writes what a survey from many measuring points brings home: shuffled records, as Parquet.

In one folder: ``records.parquet`` (all text), the same records with numbers for names, types,
addresses and values (``numbered.parquet`` with ``names.parquet`` and ``values.parquet``), and the
domains, zones and customers that a report wants besides. Memory stays below 1 GB.
"""

import argparse
import sys
import time
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from benchmarks.study.world import NAMES, Clouds, Facts, generate_facts
from lake.schemas import SCHEMAS
from tasks.surveys.record_study import NUMBERED, TEXTS

RECORDS, VANTAGES, SEED, BATCH = 34_000_000, 200, 1, 1 << 20
_TYPE_NAMES = pa.array([{1: "A", 2: "NS", 5: "CNAME", 28: "AAAA"}.get(n) for n in range(29)])


@dataclass
class Batch:
    """Some records as positions: of the name, of the fact, of the vantage."""

    name: NDArray[np.int64]
    fact: NDArray[np.int64]
    vantage: NDArray[np.int64]


def main() -> None:
    """Write the folder and print the cost."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--records", type=int, default=RECORDS)
    parser.add_argument("--names", type=int, default=NAMES)
    parser.add_argument("--seed", type=int, default=SEED)
    options = parser.parse_args()
    start = time.process_time()
    write_folder(options.folder, options.records, options.names, options.seed)
    sizes = {p.name: p.stat().st_size >> 20 for p in sorted(options.folder.glob("*.parquet"))}
    print(f"{options.records:,} records, {time.process_time() - start:.1f} CPU s, MiB: {sizes}")


def write_folder(folder: Path, n_records: int, n_names: int, seed: int = SEED) -> Facts:
    """Write all files; every fact is seen at least once where there are enough records."""
    folder.mkdir(parents=True, exist_ok=True)
    clouds = Clouds(seed)
    facts = generate_facts(clouds, seed, n_names)
    _write_records(folder, facts, n_records, seed)
    ids = pa.array(np.arange(len(facts.names)), pa.uint32())
    names = pa.table({"name_id": ids, "domain": _domain_column(facts), "name": facts.names})
    values = pa.table(
        {"value_id": pa.array(np.arange(len(facts.values)), pa.uint32()), "value": facts.values}
    )
    domains = pa.table({"domain": facts.domains, "rank": pa.array(facts.ranks, pa.int64())})
    tables = {"names": names, "values": values, "domains": domains, "zones": _zones(clouds, facts)}
    for name, table in tables.items():
        pq.write_table(table, folder / f"{name}.parquet", compression="zstd")
    return facts


def _write_records(folder: Path, facts: Facts, n_records: int, seed: int) -> None:
    rng = np.random.default_rng(seed + 2)
    order = rng.permutation(np.arange(n_records, dtype=np.uint32))
    ipv4 = _numbers_of(facts.values)
    text = pq.ParquetWriter(folder / "records.parquet", TEXTS, compression="zstd")
    plain = pq.ParquetWriter(folder / "numbered.parquet", NUMBERED, compression="zstd")
    with text, plain:
        for first in range(0, n_records, BATCH):
            rows = order[first : first + BATCH].astype(np.int64)
            batch = _batch(facts, rows, rng)
            text.write_table(_as_text(facts, batch))
            plain.write_table(_as_numbers(facts, batch, ipv4))


def _batch(facts: Facts, rows: NDArray[np.int64], rng: np.random.Generator) -> Batch:
    """Record r is about name r mod n, and contains its facts in rotation."""
    turn, name = np.divmod(rows, len(facts.names))
    n_facts = facts.start[name + 1] - facts.start[name]
    return Batch(name, facts.start[name] + turn % n_facts, rng.integers(VANTAGES, size=len(rows)))


def _as_text(facts: Facts, batch: Batch) -> pa.Table:
    vantages = pa.array([f"planetlab{i:03d}.example.net" for i in range(VANTAGES)])
    columns = [
        facts.domains.take(pa.array(facts.domain_of[batch.name])),
        facts.names.take(pa.array(batch.name)),
        vantages.take(pa.array(batch.vantage)),
        _TYPE_NAMES.take(pa.array(facts.types[batch.fact])),
        facts.values.take(pa.array(facts.value_of[batch.fact])),
    ]
    return pa.table(columns, schema=TEXTS)


def _as_numbers(facts: Facts, batch: Batch, ipv4: NDArray[np.uint32]) -> pa.Table:
    kinds, values = facts.types[batch.fact], facts.value_of[batch.fact]
    # An IPv4 address is its own number; every other value is one of the folder's texts.
    numbers = np.where(kinds == 1, ipv4[values], values)
    columns = [
        pa.array(batch.name.astype(np.uint32)),
        pa.array(batch.vantage.astype(np.uint16)),
        pa.array(kinds.astype(np.uint16)),
        pa.array(numbers.astype(np.uint32)),
    ]
    return pa.table(columns, schema=NUMBERED)


def _numbers_of(values: pa.Array) -> NDArray[np.uint32]:
    """IPv4 addresses among the values as numbers, zero for the rest."""
    quads = pc.match_substring_regex(values, r"^\d+\.\d+\.\d+\.\d+$")
    parts = pc.split_pattern(pc.if_else(quads, values, "0.0.0.0"), ".").flatten()
    octets = parts.cast(pa.uint32()).to_numpy().reshape(-1, 4)
    return (octets << np.array([24, 16, 8, 0], np.uint32)).sum(axis=1, dtype=np.uint32)


def _domain_column(facts: Facts) -> pa.Array:
    return facts.domains.take(pa.array(facts.domain_of))


def _zones(clouds: Clouds, facts: Facts) -> pa.Table:
    """Two thirds of the addresses in Amazon's prefixes with one of three zones each."""
    numbers = np.unique(_numbers_of(facts.values).astype(np.int64))
    parents = (numbers - int(clouds.first[0])) >> 16
    inside = (parents >= 0) & (parents < len(clouds.first))
    numbers, parents = numbers[inside], parents[inside]
    known = (clouds.provider[parents] == 0) & (numbers % 3 > 0)
    numbers, parents = numbers[known], parents[known]
    octets = [(numbers >> shift & 255).tolist() for shift in (24, 16, 8, 0)]
    regions = [clouds.region[p] for p in parents.tolist()]
    n = len(numbers)
    columns = {
        "address": [f"{a}.{b}.{c}.{d}" for a, b, c, d in zip(*octets, strict=True)],
        "region": regions,
        "zone": [r + "abc"[z] for r, z in zip(regions, (numbers // 3 % 3).tolist(), strict=True)],
        "method": ["invented"] * n,
        "confidence": [1.0] * n,
        "reason": [""] * n,
        "evidence": [""] * n,
        "observed_at": [None] * n,
    }
    return pa.table(columns, schema=SCHEMAS["zones"])


if __name__ == "__main__":
    main()
