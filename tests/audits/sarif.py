"""Validators of SARIF that others wrote: the schema of OASIS, and Microsoft's tool."""

import json
import os
import subprocess
from pathlib import Path

import jsonschema
import pytest

ROOT = Path(__file__).resolve().parents[2]
MULTITOOL = ROOT / "node_modules" / "@microsoft" / "sarif-multitool-linux"
_HANGS_S = 600
# The site has no fixed address to name as the tool's.
_ACCEPTED = {"SARIF2005"}


def validate_sarif(path: Path) -> None:
    """By the schema, and by the validator with GitHub's rules; skipped where npm has neither."""
    if not (MULTITOOL / "Sarif.Multitool").is_file():
        pytest.skip("no SARIF validator: npm ci installs it on Linux")
    schema = json.loads((MULTITOOL / "sarif-2.1.0.json").read_text())
    validator = jsonschema.validators.validator_for(schema)(schema)
    assert [e.message for e in validator.iter_errors(json.loads(path.read_text()))] == []
    results = _run_multitool(path)
    assert [r for r in results if r.get("level", "warning") == "error"] == []
    assert {r["ruleId"] for r in results} <= _ACCEPTED


def _run_multitool(path: Path) -> list[dict[str, object]]:
    tool, found = path.with_name("multitool"), path.with_name(f"{path.stem}.validated.sarif")
    if not tool.exists():
        # npm keeps no mode here, and the installed file is not changed.
        tool.write_bytes((MULTITOOL / "Sarif.Multitool").read_bytes())
        tool.chmod(0o700)
    command = [str(tool), "validate", str(path), "--rule-kind", "Sarif;Ghas"]
    command += ["--level", "Error;Warning", "-o", str(found), "--log", "ForceOverwrite"]
    more = {
        "DOTNET_SYSTEM_GLOBALIZATION_INVARIANT": "1",
        "DOTNET_CLI_TELEMETRY_OPTOUT": "1",
        "DOTNET_BUNDLE_EXTRACT_BASE_DIR": str(path.parent / "net"),
    }
    done = subprocess.run(
        command, env=os.environ | more, capture_output=True, check=False, timeout=_HANGS_S
    )
    assert found.is_file(), done.stdout + done.stderr
    results: list[dict[str, object]] = json.loads(found.read_text())["runs"][0]["results"]
    return results
