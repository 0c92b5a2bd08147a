"""Range files as they were published, plain or packed by gzip, within a limit."""

from core import files

# The largest real file, Azure's public service tags, has 4 MB, and a route table 20 MB.
MAX_FILE_BYTES = 64 * 1024 * 1024


def unpack(data: bytes) -> bytes:
    """Return the plain bytes; raise ``BadInput`` for a damaged gzip and for what is too large."""
    return files.unpack(data, MAX_FILE_BYTES)
