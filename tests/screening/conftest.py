import subprocess
import sys

import pytest

from core.paths import PROJECT
from screening.bundle import write_agent

AGENT = write_agent()


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
    return (PROJECT / "fixtures" / "screening" / "report.json").read_bytes()
