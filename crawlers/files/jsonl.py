"""Answers as JSON lines: the stable form of ``resolve``, one object per question."""

from collections.abc import Iterable
from datetime import UTC, datetime
from json import dumps
from json.encoder import encode_basestring as quote

from core.records import Record
from crawlers.engine.config import Result

_KEPT_SECTIONS = 50_000
Section = tuple[Record, ...]


class LineWriter:
    """Writes results as text; what repeats (a zone's name servers, a batch) is written once."""

    def __init__(self) -> None:
        # By identity, which is safe while the section itself is kept beside its text.
        self._sections: dict[int, tuple[Section, str]] = {id(()): ((), "[]")}

    def write(self, results: Iterable[Result]) -> str:
        """One line each, with its end; ``at`` is ISO 8601 in UTC."""
        lines: list[str] = []
        add, known_at, known_rtt_ms, find_section = lines.append, -1.0, None, self._sections.get
        known_resolver, known_protocol, known_attempts, end = "", "", 0, ""
        for result in results:
            question, status, answers, authorities, resolver, protocol, attempts, rtt_ms, at = (
                result[:9]
            )
            name = quote(question[0])
            if len(answers) == 1 and answers[0][0] == question[0]:
                _, rrtype, ttl, data = answers[0]
                text = f'{{"name":{name},"type":"{rrtype}","ttl":{ttl},"data":{quote(data)}}}'
            else:
                text = ",".join(map(_record_text, answers)) if answers else ""
            section = find_section(id(authorities)) or self._add_section(authorities)
            # Replies that came together have all this in common.
            if (
                at is not known_at
                or rtt_ms is not known_rtt_ms
                or resolver is not known_resolver
                or protocol is not known_protocol
                or attempts != known_attempts
            ):
                known_at, known_rtt_ms, known_attempts = at, rtt_ms, attempts
                known_resolver, known_protocol = resolver, protocol
                end = _end_text(result)
            more = _subnet_text(result) if question[4] else ""
            add(
                f'{{"name":{name},"type":"{question[1]}","status":"{status._value_}",'
                f'"answers":[{text}],"authorities":{section[1]}{end}{more}}}\n'
            )
        return "".join(lines)

    def _add_section(self, records: Section) -> tuple[Section, str]:
        if len(self._sections) >= _KEPT_SECTIONS:
            self._sections.clear()
        made = (records, f"[{','.join(map(_record_text, records))}]")
        self._sections[id(records)] = made
        return made


def _end_text(result: Result) -> str:
    resolver, protocol, attempts, rtt_ms, at = result[4:9]
    rtt = "null" if rtt_ms is None else f"{rtt_ms:.3f}"
    return (
        f',"resolver":"{resolver}","protocol":"{protocol}","attempts":{attempts},'
        f'"rtt_ms":{rtt},"at":"{iso_time(at)}"'
    )


def _record_text(record: Record) -> str:
    name, rrtype, ttl, data = record
    return f'{{"name":{quote(name)},"type":"{rrtype}","ttl":{ttl},"data":{quote(data)}}}'


def _subnet_text(result: Result) -> str:
    return f',"subnet":{quote(result.question.subnet)},"scope":{dumps(result.scope)}'


def iso_time(at: float) -> str:
    """Seconds since the epoch as ISO 8601 in UTC, to the millisecond."""
    text = datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")
