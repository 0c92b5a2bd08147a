"""CPU time and memory of counting the clients of access logs, by form.

Run as ``python -m benchmarks.cartography.client_counts [--lines N]``. Logs are made in a temporary
folder, from addresses of made tables of places and routes; each file is counted by a process of its
own, so that its memory is seen. The compiled readers are loaded before the time is taken.
"""

import argparse
import gzip
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from cartography.access_logs.counting import ClientCounter
from cartography.asn.files import read_origins
from cartography.asn.tables import OriginTable
from cartography.geolocation.files import read_places
from cartography.geolocation.tables import PlaceTable

SEED = 17
N_PREFIXES = 200_000
CITIES = 5_000
BLOCK = 250_000
COUNTRIES = ("DE", "US", "JP", "BR", "IN", "FR", "GB", "NG", "ID", "MX")
AGENT = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"


def main() -> None:
    """Make logs, count each in a process, and print a row for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=10_000_000)
    parser.add_argument("--count", nargs=2, type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.count:
        count(*options.count)
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_tables(folder)
        print("form, lines, MB, CPU s, CPU s for 10 M lines, peak MB of the process")
        for form, n_lines in (
            ("combined", options.lines),
            ("combined.gz", options.lines // 10),
            ("alb", options.lines // 10),
            ("cloudfront", options.lines // 10),
            ("json", options.lines // 10),
        ):
            path = write_log(folder, form, n_lines)
            run = [sys.executable, "-m", __spec__.name, "--count", str(folder), str(path)]
            print(subprocess.run(run, check=True, capture_output=True, text=True).stdout.strip())
            path.unlink()


def prefixes() -> np.ndarray:
    """Return the upper 24 bits of the made prefixes, each once."""
    made = np.random.default_rng(SEED).choice(0xDF0000 - 0x010000, N_PREFIXES, replace=False)
    return np.sort(made + 0x010000)


def write_tables(folder: Path) -> None:
    """Write a geofeed and a route table of /24 prefixes."""
    texts = [f"{p >> 16}.{p >> 8 & 255}.{p & 255}.0/24" for p in prefixes().tolist()]
    rng = np.random.default_rng(SEED)
    cities = rng.integers(0, CITIES, len(texts)).tolist()
    rows = (f"{t},{COUNTRIES[c % 10]},,City {c},\n" for t, c in zip(texts, cities, strict=True))
    (folder / "places.csv").write_text("".join(rows))
    asns = rng.integers(1, 60_000, len(texts)).tolist()
    routes = (f"{t}\t{asn}\n" for t, asn in zip(texts, asns, strict=True))
    (folder / "routes.dat").write_text("".join(routes))


def write_log(folder: Path, form: str, n_lines: int) -> Path:
    """Write a log of random addresses of the prefixes."""
    path = folder / form
    row = FORMS[form.removesuffix(".gz")]
    with gzip.open(path, "wt", 1) if form.endswith(".gz") else path.open("w") as file:
        if form == "cloudfront":
            file.write(
                "#Version: 1.0\n#Fields: date time x-edge-location sc-bytes c-ip cs-method\n"
            )
        for addresses in random_addresses(n_lines):
            file.write("".join(map(row, addresses)))
    return path


def random_addresses(n: int) -> Iterator[list[str]]:
    """Yield blocks of addresses, skewed as clients are."""
    rng, known = np.random.default_rng(SEED), prefixes()
    for at in range(0, n, BLOCK):
        size = min(BLOCK, n - at)
        chosen = known[(N_PREFIXES * rng.random(size) ** 3).astype(np.int64)]
        last = rng.integers(0, 256, size).tolist()
        yield [
            f"{p >> 16}.{p >> 8 & 255}.{p & 255}.{q}"
            for p, q in zip(chosen.tolist(), last, strict=True)
        ]


FORMS: dict[str, Callable[[str], str]] = {
    "combined": lambda a: (
        f'{a} - - [10/Oct/2023:13:55:36 +0000] "GET /catalogue/item?id=48151623 HTTP/1.1" 200 5123 '
        f'"https://shop.example/start" "{AGENT}"\n'
    ),
    "alb": lambda a: (
        f"https 2023-10-10T13:55:36.186641Z app/front/24d {a}:46532 10.0.0.66:9000 0.08 0.04 0.03 "
        f'200 200 0 57 "GET https://shop.example:443/ HTTP/1.1" "{AGENT}" ECDHE TLSv1.2\n'
    ),
    "cloudfront": lambda a: f"2023-10-10\t13:55:36\tFRA2\t512\t{a}\tGET\n",
    "json": lambda a: (
        json.dumps({"time": "2023-10-10T13:55:36Z", "ua": AGENT, "remote_addr": a}) + "\n"
    ),
}


def count(folder: Path, path: Path) -> None:
    """Count one file and print its row."""
    places = PlaceTable.build(read_places((folder / "places.csv").read_bytes()))
    origins = OriginTable.build(read_origins((folder / "routes.dat").read_bytes()))
    warm = ClientCounter(places, [origins])
    warm.read_bytes(FORMS["combined"]("192.0.2.1").encode() * 20, "warm", 1 << 20)
    counter = ClientCounter(places, [origins])
    start = time.process_time()
    found = counter.read(path)
    counts = counter.counts()
    seconds = time.process_time() - start
    assert found.n_read == found.n_lines
    assert sum(counts.countries.values()) == found.n_lines
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    scaled = seconds * 10_000_000 / found.n_lines
    size = path.stat().st_size / 1e6
    print(f"{path.name}, {found.n_lines:,}, {size:,.0f}, {seconds:.2f}, {scaled:.1f}, {peak:.0f}")


if __name__ == "__main__":
    main()
