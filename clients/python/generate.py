"""Generates ``src/nephoscope/rest``, one function for each operation of the API.

``python clients/python/generate.py`` reads the document of this checkout; ``--document FILE`` that
of a server (``/api/v1/openapi.json``). It needs ``openapi-python-client``.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
TARGET = HERE / "src" / "nephoscope" / "rest"
CONFIG = {"literal_enums": True, "post_hooks": []}


def read_document() -> dict[str, Any]:
    """Return the OpenAPI document of this checkout."""
    sys.path.insert(0, str(HERE.parents[1]))
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")
    import django

    django.setup()
    from webapp.api.routes import api

    # Keys of JSON are texts; the framework's are numbers in places.
    found: dict[str, Any] = json.loads(json.dumps(api.get_openapi_schema()))
    return found


def generate(document: dict[str, Any], target: Path) -> str:
    """Write the package of a document and return the generator's warnings."""
    with tempfile.TemporaryDirectory() as folder:
        source, config = Path(folder) / "openapi.json", Path(folder) / "config.json"
        source.write_text(json.dumps(_known_media(document)))
        config.write_text(json.dumps(CONFIG))
        command = [sys.executable, "-m", "openapi_python_client", "generate", "--path", str(source)]
        command += ["--config", str(config), "--meta", "none", "--overwrite"]
        done = subprocess.run(
            [*command, "--output-path", str(target)],
            check=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
    return done.stdout


def _known_media(document: dict[str, Any]) -> dict[str, Any]:
    """The document with one media type for each reply, of those that the generator knows.

    A table that is offered as JSON and as files is read as JSON; files alone are read as bytes.
    """
    for of in document["paths"].values():
        for operation in of.values():
            for status, reply in operation["responses"].items():
                content = reply.get("content")
                if not content:
                    continue
                json_form = content.get("application/json")
                binary = {"schema": {"type": "string", "format": "binary"}}
                reply["content"] = (
                    {"application/json": json_form}
                    if json_form
                    else {"application/octet-stream": binary}
                )
                # A part of a file is bytes like the whole of it.
                if status == "206":
                    del reply["content"]
    return document


def main() -> None:
    """Generate the package of this checkout or of a file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--document", type=Path, help="an openapi.json")
    given = parser.parse_args().document
    document = json.loads(given.read_text()) if given else read_document()
    warnings = generate(document, TARGET)
    sys.stdout.write(warnings)


if __name__ == "__main__":
    main()
