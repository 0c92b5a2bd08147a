"""The logs of one import joined to flows and their names, as tables of a DuckDB connection.

A flow is a row of the conn log; what only other logs have seen is a flow too, of unknown size.
"""

from pathlib import Path

import duckdb

from lake.traffic import open_flows

Connection = duckdb.DuckDBPyConnection

# TLS on these ports carries mail, directories, files and calls, not pages.
_OTHER_TLS = (21, 25, 110, 143, 389, 465, 563, 587, 636, 853, 990, 993, 995, 1433, 3306, 3389)
_MORE_TLS = (5061, 5222, 5223, 5269, 5432, 6697, 8883)
_ENDS = "key, provider, region, kind, toward, inside, client, server, port, hour"

# Certificates under either id; logs of some versions have only one of both.
_CERTIFICATES = """
CREATE TABLE certificates AS
SELECT id, any_value(domain) AS domain, any_value(san_domain) AS san_domain FROM (
  SELECT fuid AS id, domain, san_domain FROM x509 WHERE fuid IS NOT NULL
  UNION ALL SELECT fingerprint, domain, san_domain FROM x509 WHERE fingerprint IS NOT NULL)
GROUP BY id
"""
# One name of each TLS flow: what the client asked for, else what the server showed.
_TLS_NAMES = """
CREATE TABLE tls_names AS
WITH shown AS (
  SELECT key, s.domain AS sni, coalesce(s.subject_domain, f.domain, p.domain) AS common,
    coalesce(f.san_domain, p.san_domain) AS san, s.reason AS reason
  FROM ssl s LEFT JOIN certificates f ON s.fuid = f.id
    LEFT JOIN certificates p ON s.fingerprint = p.id
), ranked AS (
  SELECT key, coalesce(sni, common, san) AS domain,
    CASE WHEN sni IS NOT NULL THEN 'server name' WHEN common IS NOT NULL THEN 'certificate name'
         WHEN san IS NOT NULL THEN 'alternative name' ELSE reason END AS evidence,
    CASE WHEN sni IS NOT NULL THEN 0 WHEN common IS NOT NULL THEN 1
         WHEN san IS NOT NULL THEN 2 ELSE 3 END AS place
  FROM shown)
SELECT key, arg_min(domain, place) AS domain, arg_min(evidence, place) AS evidence
FROM ranked GROUP BY key
"""
# A connection that carried requests for several hosts is shared out by the bytes of their bodies;
# each request weighs one byte more, so that those without a body count as well.
_NAMES = """
CREATE TABLE names AS
WITH asked AS (
  SELECT key, domain, coalesce(reason, 'host') AS evidence,
    sum(1.0 + coalesce(body_bytes, 0)) AS weight
  FROM http ANTI JOIN tls_names USING (key) GROUP BY ALL)
SELECT key, domain, evidence, weight / sum(weight) OVER (PARTITION BY key) AS part FROM asked
UNION ALL SELECT key, domain, evidence, 1.0 FROM tls_names
"""
_SEEN = """
CREATE TABLE seen AS
SELECT key, bool_or(http) AS http, bool_or(tls) AS tls FROM (
  SELECT key, true AS http, false AS tls FROM http UNION ALL SELECT key, false, true FROM ssl)
GROUP BY key
"""
_PROTOCOL = f"""
CASE
  WHEN transport = 'icmp' THEN 'icmp'
  WHEN transport = 'udp' THEN CASE
    WHEN is_dns OR (service IS NULL AND port = 53) THEN 'dns'
    WHEN is_quic OR (service IS NULL AND port = 443) THEN 'quic' ELSE 'other-udp' END
  WHEN transport = 'tcp' OR is_http OR is_tls THEN CASE
    WHEN (is_tls OR (service IS NULL AND port = 443))
      AND port NOT IN {(*_OTHER_TLS, *_MORE_TLS)} THEN 'https'
    WHEN is_http OR (service IS NULL AND port = 80) THEN 'http' ELSE 'other-tcp' END
  ELSE 'other' END
"""
_FLOWS = f"""
CREATE TABLE flows AS
WITH spoken AS (
  SELECT c.*, contains(',' || service || ',', ',dns,') AS is_dns,
    contains(',' || service || ',', ',quic,') AS is_quic,
    contains(',' || service || ',', ',http,') OR coalesce(s.http, false) AS is_http,
    contains(',' || service || ',', ',ssl,') OR coalesce(s.tls, false) AS is_tls
  FROM conn c LEFT JOIN seen s USING (key))
SELECT {_ENDS}, {_PROTOCOL} AS protocol, coalesce(ip_bytes, payload_bytes) AS bytes,
  CASE WHEN ip_bytes IS NOT NULL THEN 'wire' WHEN payload_bytes IS NOT NULL THEN 'payload' END
    AS basis, missed_bytes
FROM spoken
"""
# Connections in other logs that no conn log contains.
_ORPHANS = f"""
INSERT INTO flows
WITH others AS (
  SELECT {_ENDS}, 'https' AS protocol, NULL AS bytes FROM ssl
  UNION ALL SELECT {_ENDS}, 'http', body_bytes FROM http
  UNION ALL SELECT {_ENDS}, CASE transport WHEN 'udp' THEN 'dns' ELSE 'other-tcp' END, NULL FROM dns
), lost AS (SELECT * FROM others ANTI JOIN conn USING (key))
SELECT key, any_value(provider), any_value(region), any_value(kind), any_value(toward),
  any_value(inside), any_value(client), any_value(server), any_value(port), min(hour),
  max(protocol), sum(bytes)::BIGINT, CASE WHEN sum(bytes) IS NOT NULL THEN 'bodies' END, NULL
FROM lost GROUP BY key
"""


def open_traffic(folder: Path, memory_mb: int = 512) -> Connection:
    """A connection with ``flows`` and ``names`` over the parts of one import."""
    connection = open_flows(folder, memory_mb)
    for statement in (_CERTIFICATES, _TLS_NAMES, _NAMES, _SEEN, _FLOWS, _ORPHANS):
        connection.execute(statement)
    # What the published tables count: flows that clients inside opened towards a cloud.
    connection.execute("CREATE VIEW opened AS SELECT * FROM flows WHERE toward AND inside")
    return connection
