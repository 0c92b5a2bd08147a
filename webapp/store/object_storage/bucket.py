"""A bucket of S3-compatible object storage, through pyarrow's client.

Keys are never written twice: ``PREFIX/SHA256-RANDOM``. So an object that garbage collection has
found unnamed cannot become named while it is removed.
"""

import functools
import hashlib
import os
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from django.conf import settings
from pyarrow import fs

from core.errors import BadInput, Damaged, MissingData, Unavailable

_PIECE_BYTES = 1 << 20
_CONNECT_S, _REQUEST_S = 5, 60
_OPTIONS = frozenset({"endpoint", "region"})


@dataclass(frozen=True, slots=True)
class Location:
    """Where objects are: bucket with prefix, endpoint and region."""

    path: str
    endpoint: str
    region: str

    @classmethod
    def parse(cls, url: str) -> "Location":
        """Parse ``s3://BUCKET/PREFIX?endpoint=https://HOST:PORT&region=REGION``."""
        parts = urlsplit(url)
        options = dict(parse_qsl(parts.query))
        if parts.scheme != "s3" or not parts.netloc or parts.username:
            raise BadInput("is not like s3://BUCKET/PREFIX?endpoint=https://HOST", field=_SETTING)
        if unknown := set(options) - _OPTIONS:
            raise BadInput(f"has an unknown option {min(unknown)!r}", field=_SETTING)
        endpoint = options.get("endpoint", "")
        if endpoint and urlsplit(endpoint).scheme not in ("http", "https"):
            raise BadInput("its endpoint begins with https:// or http://", field=_SETTING)
        path = f"{parts.netloc}{parts.path}".rstrip("/")
        return cls(path, endpoint, options.get("region", "us-east-1"))


_SETTING = "NEPHOSCOPE_LAKE_URL"


@dataclass(frozen=True, slots=True)
class StoredObject:
    """An object as the bucket lists it."""

    key: str
    size: int
    modified_at: datetime


def upload(source: Path) -> tuple[str, str, int]:
    """Store a file under a new key; return key, SHA-256 and size. Raises ``Unavailable``."""
    digest, size = hashlib.sha256(), 0
    with source.open("rb") as file:
        while piece := file.read(_PIECE_BYTES):
            digest.update(piece)
            size += len(piece)
    sha256 = digest.hexdigest()
    key = f"{sha256}-{secrets.token_hex(8)}"
    try:
        with source.open("rb") as file, _client().open_output_stream(_path(key)) as target:
            while piece := file.read(_PIECE_BYTES):
                target.write(piece)
    except OSError as error:
        raise _away(error) from error
    return key, sha256, size


def download(key: str, sha256: str, target: Path) -> None:
    """Copy an object to a file.

    Raises ``Damaged`` where it is not what was stored, ``MissingData`` where it is gone, and
    ``Unavailable`` where the storage or the disk does not answer.
    """
    digest = hashlib.sha256()
    try:
        with _client().open_input_stream(_path(key)) as source, target.open("wb") as file:
            while piece := source.read(_PIECE_BYTES):
                digest.update(piece)
                file.write(piece)
    except FileNotFoundError as error:
        raise MissingData(f"the object {key} is gone from the object storage") from error
    except OSError as error:
        raise _away(error) from error
    if digest.hexdigest() != sha256:
        raise Damaged(f"the object {key} is damaged: its SHA-256 is {digest.hexdigest()}")


def delete(key: str) -> None:
    """Remove an object; one that is gone already is no error. Raises ``Unavailable``."""
    try:
        _client().delete_file(_path(key))
    except FileNotFoundError:
        return
    except OSError as error:
        raise _away(error) from error


def list_objects() -> Iterator[StoredObject]:
    """Yield all objects below the prefix; raises ``Unavailable``."""
    place = Location.parse(settings.LAKE_URL).path
    try:
        found = _client().get_file_info(fs.FileSelector(place, allow_not_found=True))
    except OSError as error:
        raise _away(error) from error
    for info in found:
        if info.type == fs.FileType.File:
            yield StoredObject(info.base_name, info.size, info.mtime.astimezone(UTC))


def _path(key: str) -> str:
    return f"{Location.parse(settings.LAKE_URL).path}/{key}"


def _client() -> Any:
    # Threads of the client do not survive a fork: each process has its own.
    return _client_of(settings.LAKE_URL, os.getpid())


@functools.lru_cache(maxsize=2)
def _client_of(url: str, _pid: int) -> fs.S3FileSystem:
    place = Location.parse(url)
    given: dict[str, Any] = {"region": place.region}
    if place.endpoint:
        parts = urlsplit(place.endpoint)
        given |= {"scheme": parts.scheme, "endpoint_override": parts.netloc}
    if settings.LAKE_ACCESS_KEY:
        given |= {"access_key": settings.LAKE_ACCESS_KEY, "secret_key": settings.LAKE_SECRET_KEY}
    return fs.S3FileSystem(
        **given,
        connect_timeout=_CONNECT_S,
        request_timeout=_REQUEST_S,
        background_writes=False,
        retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=3),
    )


def _away(error: OSError) -> Unavailable:
    return Unavailable(f"the object storage does not answer: {str(error).splitlines()[0][:300]}")
