"""Commands as processes of their own, forked from one that has loaded what is slow to load."""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_READY = """
import json, os, sys
import celery, django, duckdb, numpy, pyarrow, pyarrow.compute, pyarrow.dataset, pyarrow.parquet
import analysis.traffic.report, cartography.flows.importing, cartography.prefixes
from django.core.management import execute_from_command_line
for line in sys.stdin:
    arguments, environment, out, err = json.loads(line)
    child = os.fork()
    if not child:
        os.environ.clear()
        os.environ.update(environment)
        for number, path in ((1, out), (2, err)):
            os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
        code = 0
        try:
            execute_from_command_line(["manage.py", *arguments])
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else bool(stop.code)
        except BaseException:
            import traceback
            traceback.print_exc()
            code = 1
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


class Forks:
    """A process that waits for commands; each is run by a fork of it, in the environment given."""

    def __init__(self, folder: Path) -> None:
        self._out, self._err = folder / "out.txt", folder / "err.txt"
        self._process = subprocess.Popen(
            [sys.executable, "-c", _READY],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, arguments, environment) -> subprocess.CompletedProcess:
        given = {**environment, "DJANGO_SETTINGS_MODULE": "webapp.settings"}
        job = [list(map(str, arguments)), given, str(self._out), str(self._err)]
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        code = int(self._process.stdout.readline())
        texts = (path.read_text() for path in (self._out, self._err))
        return subprocess.CompletedProcess(arguments, code, *texts)

    def close(self) -> None:
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()
