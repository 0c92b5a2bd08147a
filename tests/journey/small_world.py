"""Fills the data folder of the environment with a survey of a small world, and says its report."""

import subprocess
import sys
import tempfile
from pathlib import Path

from tests import forks
from tests.shared import write_few_labels

_MANAGE = [sys.executable, "manage.py"]


def main() -> None:
    """Serve the world, survey it, end it."""
    with tempfile.TemporaryDirectory() as folder:
        _survey(["--wordlist", str(write_few_labels(Path(folder)))])


def _survey(words: list[str]) -> None:
    serve = [*_MANAGE, "testbed", "serve", "imc2013", "--scale", "1/1000", "--port", "0", *words]
    with forks.Process(serve, stderr=subprocess.PIPE, text=True) as testbed:
        try:
            line = next(x for x in testbed.stderr or () if x.startswith("answering"))
            server = "127.0.0.1:" + line.split("port ")[1].split(";")[0]
            survey = [*_MANAGE, "survey", line.split("survey ")[1].split()[0], *words]
            more = ["--name", "Small world", "--name-server", server, "--json"]
            forks.run([*survey, *more], check=True)
        finally:
            testbed.terminate()


if __name__ == "__main__":
    main()
