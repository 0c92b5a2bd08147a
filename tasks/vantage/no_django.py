"""Imported before all else, it keeps Django out of a vantage point's process.

The message library loads a part of Django by itself wherever that is installed.
"""

import os
import sys

if "DJANGO_SETTINGS_MODULE" not in os.environ:
    # An import of it fails then, as on a machine that does not have it.
    sys.modules.setdefault("django", None)  # type: ignore[arg-type]
