"""``manage.py lake``: the object storage of the lake: state, first upload, checks, garbage."""

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser
from django.utils import timezone

from core.errors import Damaged, MissingData
from webapp.console.product_command import ProductCommand
from webapp.store.object_storage import files

# Folders of the data folder that machines share, beside those with a setting of their own.
_SHARED = (
    "audits",
    "domain-lists",
    "packets",
    "recommendations",
    "screening",
    "traffic-uploads",
    "zone-observations",
)


class Command(ProductCommand):
    """Keep the lake in S3-compatible object storage."""

    help = "the object storage of the lake: state, first upload, checks, garbage"

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
        actions.add_parser("status", help="files in the manifest and their size")
        actions.add_parser("push", help="upload files of this machine that have no object yet")
        actions.add_parser("fetch", help="copy every file to this machine")
        verify = actions.add_parser("verify", help="compare the manifest with the objects")
        verify.add_argument(
            "--contents", action="store_true", help="read every object and compare its SHA-256"
        )
        actions.add_parser("gc", help="remove objects that nothing has named for seven days")

    def handle(self, *args: Any, **options: Any) -> None:
        if not files.is_configured():
            raise MissingData("no object storage is configured: set NEPHOSCOPE_LAKE_URL")
        found: dict[str, Any] = getattr(self, f"_{options['action']}")(**options)
        if options["json"]:
            self.write_json(found)
            return
        self.stdout.write(", ".join(f"{name}: {value:,}" for name, value in found.items()))

    def _status(self, **_: Any) -> dict[str, int]:
        n, octets = files.sizes()
        return {"files": n, "bytes": octets}

    def _push(self, **_: Any) -> dict[str, int]:
        others = (Path(settings.DATA_DIR) / name for name in _SHARED)
        shared = (settings.LAKE_DIR, settings.UPLOADS_DIR, settings.RANGES_DIR, *others)
        return {"uploaded": files.publish_missing(map(Path, shared))}

    def _fetch(self, **_: Any) -> dict[str, int]:
        files.fetch_all(Path(settings.DATA_DIR))
        return self._status()

    def _verify(self, contents: bool, **_: Any) -> dict[str, int]:
        faults = list(files.find_faults(with_contents=contents))
        for path, fault in faults:
            self.write_note(f"{path}: {fault}")
        if faults:
            raise Damaged(f"{len(faults)} of {files.sizes()[0]} files are lost or damaged")
        return self._status()

    def _gc(self, **_: Any) -> dict[str, int]:
        removed = files.collect_garbage(timezone.now())
        return {"removed": removed.objects, "bytes": removed.octets}
