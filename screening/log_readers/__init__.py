"""Parse logs of other tools into one :class:`Log`; the kind is detected from the contents."""

from collections.abc import Callable

from core import files
from core.errors import BadInput
from screening.log_readers import agent_report, cyclictest, fio, hdr_histogram, vm_noise
from screening.log_readers.records import Log

# The largest log that is read; a day of jHiccup has 15 MB.
MOST_BYTES = 256_000_000

READERS: tuple[tuple[Callable[[str], bool], Callable[[str], list[Log]]], ...] = (
    (agent_report.is_report, agent_report.read_report),
    (fio.is_fio, fio.read_fio),
    (hdr_histogram.is_hdr, hdr_histogram.read_hdr),
    (cyclictest.is_cyclictest, cyclictest.read_cyclictest),
    (vm_noise.is_noise, vm_noise.read_noise),
)


def read_log(data: bytes) -> list[Log]:
    """Series of a log, one per thread, job or machine; BadInput when no kind fits."""
    text = unpack(data).decode("utf-8-sig", "replace")
    for is_kind, read in READERS:
        if is_kind(text):
            return read(text)
    raise BadInput(
        "unknown log: expected an agent's report, an HdrHistogram log (jHiccup), a histogram of "
        "cyclictest, fio's JSON or a CSV with columns value, starttime and VM_id"
    )


def unpack(data: bytes) -> bytes:
    """The file without its gzip layer; BadInput when it is damaged or too large."""
    return files.unpack(data, MOST_BYTES)


__all__ = ["Log", "read_log", "unpack"]
