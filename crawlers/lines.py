"""Answers as JSON lines: the stable form of ``resolve``, one object per question."""

from datetime import UTC, datetime
from json import dumps
from json.encoder import encode_basestring as quote

from core.records import Record
from crawlers.questions import Result

_KEPT_SECTIONS = 50_000


class LineWriter:
    """Writes results as text; what repeats (a zone's name servers, a second) is written once."""

    def __init__(self) -> None:
        # By identity, which is safe while the section itself is kept beside its text.
        self._sections: dict[int, tuple[tuple[Record, ...], str]] = {}
        self._at = -1.0
        self._end = ""

    def write(self, result: Result) -> str:
        """One line, without its end; ``at`` is ISO 8601 in UTC."""
        question, status, answers, authorities = result[:4]
        resolver, protocol, attempts, rtt_ms, at = result[4:9]
        name = quote(question[0])
        if len(answers) == 1 and answers[0][0] == question[0]:
            _, rrtype, ttl, data = answers[0]
            text = f'{{"name":{name},"type":"{rrtype}","ttl":{ttl},"data":{quote(data)}}}'
        else:
            text = ",".join(map(_record_text, answers))
        rtt = "null" if rtt_ms is None else f"{rtt_ms:.3f}"
        if at != self._at:
            self._at, self._end = at, f',"at":"{iso_time(at)}"'
        more = _subnet_text(result) if question[4] else ""
        return (
            f'{{"name":{name},"type":"{question[1]}","status":"{status}","answers":[{text}],'
            f'"authorities":{self._section_text(authorities) if authorities else "[]"},'
            f'"resolver":"{resolver}","protocol":"{protocol}","attempts":{attempts},'
            f'"rtt_ms":{rtt}{self._end}{more}}}'
        )

    def _section_text(self, records: tuple[Record, ...]) -> str:
        known = self._sections.get(id(records))
        if known is None:
            if len(self._sections) >= _KEPT_SECTIONS:
                self._sections.clear()
            known = (records, f"[{','.join(map(_record_text, records))}]")
            self._sections[id(records)] = known
        return known[1]


def _record_text(record: Record) -> str:
    name, rrtype, ttl, data = record
    return f'{{"name":{quote(name)},"type":"{rrtype}","ttl":{ttl},"data":{quote(data)}}}'


def _subnet_text(result: Result) -> str:
    return f',"subnet":{quote(result.question.subnet)},"scope":{dumps(result.scope)}'


def iso_time(at: float) -> str:
    """Seconds since the epoch as ISO 8601 in UTC, to the millisecond."""
    text = datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")
