"""The earlier name of ``tasks.vantage.joining``, which start scripts of vantage points may have."""

import sys

from tasks.vantage.joining import main

if __name__ == "__main__":
    sys.exit(main())
