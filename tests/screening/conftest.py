import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
AGENT = ROOT / "screening" / "agent.py"


@pytest.fixture
def agent(tmp_path):
    """Run the stand-alone agent in an empty folder, as on a machine that knows nothing else."""

    def run(*words, **more):
        return subprocess.run(
            [sys.executable, "-I", str(AGENT), *map(str, words)],
            capture_output=True,
            text=True,
            timeout=60,
            cwd=tmp_path,
            env={"PATH": "/usr/bin:/bin", "TMPDIR": str(tmp_path)},
            **more,
        )

    return run


@pytest.fixture
def sample():
    return (ROOT / "fixtures" / "screening" / "report.json").read_bytes()
