"""Files as they were published, or packed by gzip: the same bytes out, within a limit."""

import gzip
import io
import zlib

from core.errors import BadInput

# The largest real file, Azure's public service tags, has 4 MB, and a route table 20 MB.
MAX_FILE_BYTES = 64 * 1024 * 1024


def unpack(data: bytes) -> bytes:
    """The plain bytes; raises ``BadInput`` for a damaged gzip and for what is too large."""
    if data.startswith(b"\x1f\x8b"):
        try:
            data = gzip.GzipFile(fileobj=io.BytesIO(data)).read(MAX_FILE_BYTES + 1)
        except (OSError, EOFError, zlib.error) as error:
            raise BadInput(f"the gzip file is damaged or cut off: {error}") from error
    if len(data) > MAX_FILE_BYTES:
        raise BadInput(f"the file is larger than {MAX_FILE_BYTES // 2**20} MiB")
    return data
