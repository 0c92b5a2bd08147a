"""``manage.py survey export`` and ``survey rebuild``: raw data as one file, and back."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from core.errors import NephoscopeError
from tasks.surveys import export
from tasks.surveys.packages import packing, rebuilding
from tasks.surveys.study import finished
from webapp.console.input_files import input_file
from webapp.console.product_command import ProductCommand
from webapp.store.access.accounts import get_account

ACTIONS = ("export", "rebuild")


class DifferentReport(NephoscopeError):
    """The rebuilt report is not that of the package."""

    permanent = False


class PackageCommand(ProductCommand):
    """A survey's raw data as a package."""

    help = "make a package of a survey's raw data, or a survey of a package"

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        packed = actions.add_parser("export", help="write the raw data of a survey as one file")
        packed.add_argument("survey", metavar="NAME")
        packed.add_argument("-o", "--output", type=Path, metavar="PACKAGE", required=True)
        again = actions.add_parser("rebuild", help="store a package, compute its report again")
        again.add_argument("package", type=input_file, metavar="PACKAGE")
        again.add_argument("--slug", default="", metavar="NAME", help="default the package's")
        again.add_argument("--owner", metavar="ACCOUNT", help="private to it; else public")
        again.add_argument("--out", type=Path, metavar="DIR", help="as of survey")

    def handle(self, *args: Any, **options: Any) -> None:
        getattr(self, f"_{options['action']}")(options)

    def _export(self, options: dict[str, Any]) -> None:
        survey, path = finished(options["survey"]), options["output"]
        package = packing.write_to(survey, path)
        document = {
            "survey": survey.slug,
            "package": str(path),
            "bytes": package.size,
            "files": len(package.members),
            "manifest_sha256": package.digest,
        }
        self.write_json(document) if options["json"] else self.stdout.write(
            f"{path}: {package.size:,} bytes, {len(package.members):,} files, "
            f"manifest {package.digest}"
        )

    def _rebuild(self, options: dict[str, Any]) -> None:
        owner = get_account(options["owner"]) if options["owner"] else None
        with options["package"].open("rb") as stream:
            found = rebuilding.rebuild(stream, options["slug"], owner)
        if options["out"]:
            export.write_out(found.slug, options["out"])
        if options["json"]:
            self.write_json({"survey": found.slug, "differences": found.differences})
        else:
            self.stdout.write(f"{found.slug}: rebuilt")
        if found.differences:
            raise DifferentReport(
                f"the report of {found.slug} differs from the package's, which release "
                f"{found.made_by} wrote, in {', '.join(found.differences)}; the survey is kept"
            )
