"""Several commands that start at once in a new data folder make one store."""

import subprocess
import sys

from tests import forks
from tests.tasks.site import HANGS_S


def test_commands_that_start_together_make_one_store(tmp_path):
    command = [sys.executable, "manage.py", "ranges", "list", "--json"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    environment = forks.bare_environment(tmp_path)
    processes = [forks.Process(command, env=environment, **pipes) for _ in range(4)]
    results = [(p.communicate(timeout=HANGS_S), p.returncode) for p in processes]
    assert [code for _, code in results] == [0] * 4, [err for (_, err), _ in results]
