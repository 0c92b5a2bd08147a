"""A worker of pytest-xdist, forked from a process that has imported the libraries.

``python -m tests.worker -u -c CODE`` is to execnet what ``python -u -c CODE`` would be.
"""

import sys

from tests import forks


def main() -> int:
    """Run the code in a fork that has the standard streams of this process; return its status."""
    code = sys.argv[sys.argv.index("-c") + 1]
    with forks.Process([sys.executable, "-c", code]) as worker:
        return worker.wait()


if __name__ == "__main__":
    sys.exit(main())
