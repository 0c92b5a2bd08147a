"""Run schemathesis against a filled site as operator, tenant and anonymous, and count the cases.

``python -m benchmarks.api.fuzz`` in the project's environment; ``--help`` has the options.
"""

import argparse
import base64
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from deploy import broker, links
from deploy.processes import Child, Family

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
ROLES = ("operator", "tenant", "nobody")
# Event streams wait for changes that no worker makes here.
STREAMS = ("stream_survey_events", "stream_audit_events")
# Without an object or without access; 405 is a method that an address does not have.
UNREACHED = (401, 404, 405)


def main() -> int:
    """Run each role on a copy of one filled folder; 0 without server errors and violations."""
    asked = _arguments()
    folder = Path(tempfile.mkdtemp(prefix="nephoscope-fuzz-"))
    environment = {
        **os.environ,
        "NEPHOSCOPE_DATA": str(folder / "data"),
        "PYTHONPATH": str(ROOT),
        "REDIS_URL": f"redis+socket://{broker.socket_path(folder / 'data')}",
        # No worker ends them, and none answers beyond this machine.
        "NEPHOSCOPE_MAX_ACTIVE_SURVEYS": "100000",
        "NEPHOSCOPE_MAX_ACTIVE_SURVEYS_PER_USER": "100000",
        "NEPHOSCOPE_NAME_SERVERS": "127.0.0.1:9",
    }
    filled = subprocess.run(
        [sys.executable, "-m", "tests.api.objects"],
        cwd=ROOT,
        env=environment,
        check=True,
        stdout=subprocess.PIPE,
    )
    (folder / "existing.json").write_bytes(filled.stdout)
    shutil.copytree(folder / "data", folder / "filled")
    failed = False
    for role in asked.roles:
        shutil.rmtree(folder / "data")
        shutil.copytree(folder / "filled", folder / "data")
        with _site(folder, environment, asked.port) as site:
            _run(asked, role, folder, site)
        failed |= not _report(role, folder / f"{role}.ndjson")
        refused = json.loads((folder / f"{role}-refused.json").read_text())
        for rule, n in sorted(refused.items()):
            sys.stdout.write(f"  refused as documented, {n} x: {rule}\n")
        sys.stdout.flush()
    sys.stdout.write(f"reports and logs: {folder}\n")
    return int(failed)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.api.fuzz", description=__doc__)
    parser.add_argument("--schemathesis", required=True, help="its command")
    parser.add_argument("--max-examples", type=int, default=30, help="cases of each operation")
    parser.add_argument("--roles", nargs="+", choices=ROLES, default=list(ROLES))
    parser.add_argument("--port", type=int, default=8137)
    parser.add_argument("--seed", type=int)
    return parser.parse_args()


@contextmanager
def _site(folder: Path, environment: dict[str, str], port: int) -> Iterator[str]:
    """Serve the folder with both brokers, and without workers."""
    data, url = folder / "data", f"http://127.0.0.1:{port}"
    family = Family(folder / "logs", environment)
    with ExitStack() as stack:
        stack.callback(family.stop)
        family.start(Child("valkey", broker.command(data)))
        family.start(Child("links", links.command(data)))
        command = [sys.executable, "-m", "webapp.server", "--port", str(port)]
        family.start(Child("web", command))
        _wait_for(lambda: broker.answers(data) and links.answers(data) and _answers(url))
        yield url


def _wait_for(ready: Any, most_s: float = 60.0) -> None:
    deadline = time.monotonic() + most_s
    while not ready():
        if time.monotonic() > deadline:
            raise SystemExit("the site did not start")
        time.sleep(0.2)


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/api/v1/limits", timeout=5) as reply:
            return bool(reply.status == 200)
    except OSError:
        return False


def _run(asked: argparse.Namespace, role: str, folder: Path, site: str) -> None:
    token = json.loads((folder / "existing.json").read_text())["tokens"].get(role)
    command = [
        *(asked.schemathesis, "run", f"{site}/api/v1/openapi.json"),
        *("-c", "all", "--phases", "coverage,fuzzing,stateful", "--continue-on-failure"),
        *("--max-examples", str(asked.max_examples)),
        *("--report", "ndjson", "--report-ndjson-path", str(folder / f"{role}.ndjson")),
        *(["--seed", str(asked.seed)] if asked.seed is not None else []),
        *(["-H", f"Authorization: Bearer {token}"] if token else []),
    ]
    for stream in STREAMS:
        command += ["--exclude-operation-id", stream]
    environment = {
        **os.environ,
        "EXISTING": str(folder / "existing.json"),
        "ROLE": role,
        "SITE": site,
        "REFUSED": str(folder / f"{role}-refused.json"),
        "SCHEMATHESIS_HOOKS": str(HERE / "hooks.py"),
    }
    # The working directory holds its database of examples.
    with (folder / f"{role}.txt").open("wb") as out:
        subprocess.run(command, cwd=folder, env=environment, stdout=out, stderr=out)


def _report(role: str, path: Path) -> bool:
    """Print the figures of a role; whether it has neither server errors nor violations."""
    statuses: Counter[int] = Counter()
    violations: Counter[str] = Counter()
    objects: Counter[bool] = Counter()
    for recorder in _recorders(path):
        for key, interaction in recorder["interactions"].items():
            status = (interaction.get("response") or {}).get("status_code", 0)
            statuses[status] += 1
            # Operations on one object have parameters in their path.
            if "{" in recorder["cases"][key]["value"]["path"]:
                objects[status not in UNREACHED] += 1
        for line in _violations(recorder):
            violations[line] += 1
    cases = sum(statuses.values())
    reached = sum(n for status, n in statuses.items() if status not in UNREACHED)
    admitted = cases - statuses[401]
    errors = sum(n for status, n in statuses.items() if status >= 500 or status == 0)
    sys.stdout.write(
        f"{role}: {cases:,} cases; {reached / max(cases, 1):.1%} reach what exists, "
        f"{reached / max(admitted, 1):.1%} of the {admitted:,} without 401 "
        f"({objects[True]:,} of {objects.total():,} with an object in their path); "
        f"{errors} server errors, {violations.total()} violations\n"
        f"  statuses: {', '.join(f'{k}: {n:,}' for k, n in sorted(statuses.items()))}\n"
    )
    for line, n in sorted(violations.items()):
        sys.stdout.write(f"  {n} x {line}\n")
    return cases > 0 and not errors and not violations


def _recorders(path: Path) -> Iterator[dict[str, Any]]:
    with path.open() as lines:
        for line in lines:
            recorder = json.loads(line).get("ScenarioFinished", {}).get("recorder", {})
            if "interactions" in recorder:
                yield recorder


def _violations(recorder: dict[str, Any]) -> Iterator[str]:
    """For each failed check its name, operation and answer; answers that differ in names and
    numbers alone are one.
    """
    for key, checks in recorder["checks"].items():
        interaction = recorder["interactions"].get(key, {})
        request, response = interaction.get("request", {}), interaction.get("response") or {}
        answer = _describe(_text(response.get("content")))
        path = recorder["cases"][key]["value"]["path"]
        for check in checks:
            if check["status"] != "success":
                status = response.get("status_code")
                yield f"{check['name']}: {request.get('method')} {path}: {status} {answer}"


def _describe(text: str) -> str:
    try:
        problem = json.loads(text)
        kind = problem["type"].rpartition("/")[2]
        text = f"{kind} {problem.get('field', '')} {problem['detail']}"
    except (ValueError, KeyError, TypeError):
        pass
    return re.sub(r"'[^']*'|\"[^\"]*\"|[0-9]+", "…", text)[:120]


def _text(content: Any) -> str:
    if isinstance(content, dict):
        content = content.get("$base64") or content.get("payload")
    try:
        return base64.b64decode(content or "", validate=True).decode()
    except ValueError:
        return str(content)


if __name__ == "__main__":
    sys.exit(main())
