"""Globalping and RIPE Atlas on loopback: they speak the documented API, and misbehave as told.

Bodies that the documents forbid are refused, what each costs is counted by the documented prices,
and answers are packed for whoever takes them so.
"""

import gzip
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address

GLOBALPING_KEY, ATLAS_KEY = "secret-token-of-globalping", "11111111-secret-of-atlas"


class Network:
    """A server with a script: faults are (status, headers, body) to be given first, by path."""

    def __init__(self):
        self.faults, self.asked, self.bodies, self.keys = {}, [], [], []
        self.documents = {}  # path: document, or a list of documents that follow each other
        self.etags = {}
        self.spent = {"globalping": 0, "atlas": 0}
        self.ended, self.packed, self.packs = [], 0, True
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *args):
                pass

            def do_GET(self):
                outer.serve(self, None)

            def do_DELETE(self):
                outer.ended.append(self.path)
                outer.serve(self, None)

            def do_POST(self):
                length = int(self.headers.get("Content-Length") or 0)
                outer.serve(self, json.loads(self.rfile.read(length)))

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server.server_port}"

    def serve(self, handler, body):
        path = handler.path.partition("?")[0]
        self.asked.append((handler.command, handler.path))
        self.keys.append(handler.headers.get("Authorization"))
        if body is not None:
            self.bodies.append(body)
        faults = self.faults.get((handler.command, path)) or self.faults.get(path) or []
        if faults:
            return self.answer(handler, *faults.pop(0))
        if handler.command == "DELETE":
            return self.answer(handler, 204, {}, b"")
        if handler.command == "POST":
            return self.answer(handler, *self.created(path, body))
        found = self.documents.get(path)
        if isinstance(found, Series):
            found = found.next()
        if found is None:
            return self.answer(handler, 404, {}, {"error": {"type": "not_found", "message": "no"}})
        tag = f'W/"{hash(json.dumps(found, sort_keys=True)) & 0xFFFF:x}"'
        if handler.headers.get("If-None-Match") == tag:
            self.etags[path] = self.etags.get(path, 0) + 1
            return self.answer(handler, 304, {"ETag": tag}, b"")
        return self.answer(handler, 200, {"ETag": tag}, found)

    def created(self, path, body):
        own = path == "/v1/measurements"
        wrong = globalping_faults(body) if own else atlas_faults(body)
        if wrong and own:
            return (
                400,
                {},
                {
                    "error": {
                        "type": "validation_error",
                        "message": "Parameter validation failed.",
                        "params": wrong,
                    }
                },
            )
        if wrong:
            errors = [{"source": {"pointer": k}, "detail": v} for k, v in wrong.items()]
            return (
                400,
                {},
                {"error": {"status": 400, "code": 102, "title": "Bad Request", "errors": errors}},
            )
        if own:
            self.spent["globalping"] += 1
            name = f"gp{len(self.bodies)}"
            return (
                202,
                {"Location": f"{self.url}/v1/measurements/{name}", "X-Request-Cost": "1"},
                {"id": name, "probesCount": 1},
            )
        self.spent["atlas"] += sum(map(atlas_price, body["definitions"]))
        return 201, {}, {"measurements": [1000 + len(self.bodies)]}

    def answer(self, handler, status, headers, body):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        if data and self.packs and "gzip" in handler.headers.get("Accept-Encoding", ""):
            data, headers = gzip.compress(data), {**headers, "Content-Encoding": "gzip"}
            self.packed += 1
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data)


def is_address(text):
    try:
        return bool(ip_address(text))
    except ValueError:
        return False


OPTIONS = {
    "ping": {"packets", "protocol", "port", "ipVersion"},
    "traceroute": {"protocol", "port", "ipVersion"},
    "http": {"request", "resolver", "protocol", "port", "ipVersion"},
}
PROTOCOLS = {
    "ping": {"ICMP", "TCP"},
    "traceroute": {"ICMP", "TCP", "UDP"},
    "http": {"HTTP", "HTTPS", "HTTP2"},
}


def globalping_faults(body):
    """What the published schema of Globalping's API says against a body, by parameter."""
    kind, options = body.get("type"), body.get("measurementOptions", {})
    if kind not in OPTIONS:
        return {"type": "must be one of ping, traceroute, dns, mtr, http"}
    request = options.get("request", {})
    is_address_told = "ipVersion" in options and is_address(body["target"])
    wrong = {
        "options": not set(options) <= OPTIONS[kind],
        "ipVersion": is_address_told or options.get("ipVersion", 4) not in (4, 6),
        "protocol": options.get("protocol", "HTTPS" if kind == "http" else "ICMP")
        not in PROTOCOLS[kind],
        "packets": not 1 <= options.get("packets", 3) <= 16,
        "port": not 0 <= options.get("port", 80) <= 65_535,
        "request": not set(request) <= {"host", "path", "query", "method", "headers"},
        "path": "?" in request.get("path", ""),
        "locations": not all(set(place) - {"limit"} for place in body.get("locations", ())),
    }
    return {field: f"{field} is not allowed so" for field, is_wrong in wrong.items() if is_wrong}


def atlas_faults(body):
    """What the documents of RIPE Atlas say against a body, by field."""
    found = {}
    for one in body.get("definitions", ()):
        need = {"type", "target", "af", "description"}
        need |= {"protocol"} if one.get("type") == "traceroute" else set()
        found |= dict.fromkeys(need - set(one), "This field is required.")
        if is_address(one["target"]) and ip_address(one["target"]).version != one["af"]:
            found["target"] = "target is not of this address family"
        if one.get("protocol", "ICMP") not in ("ICMP", "UDP", "TCP"):
            found["protocol"] = "is not a valid choice."
        if not 1 <= one.get("packets", 3) <= 16 or not 1 <= one.get("size", 48) <= 2048:
            found["packets"] = "Ensure this value is right."
    if not body.get("definitions") or not body.get("probes"):
        found["definitions"] = "This field is required."
    return found


def atlas_price(definition):
    """Credits of a one-off result: twice that of a series'; a ping by its packets."""
    one = definition["packets"] * (definition.get("size", 48) // 1500 + 1)
    return 2 * one * (10 if definition["type"] == "traceroute" else 1)


class Series:
    """Documents one after another; the last one stays."""

    def __init__(self, *documents):
        self.documents = list(documents)

    def next(self):
        return self.documents.pop(0) if len(self.documents) > 1 else self.documents[0]


PROBE = {
    "continent": "EU",
    "region": "Western Europe",
    "country": "DE",
    "state": None,
    "city": "Berlin",
    "asn": 3320,
    "longitude": 13.41,
    "latitude": 52.52,
    "network": "Deutsche Telekom AG",
    "tags": [],
    "resolvers": ["private"],
}


def ping_measurement(*rtts, status="finished", total=None, packets=3, **result):
    """What ``GET /v1/measurements/ID`` gives for a ping."""
    timings = [{"ttl": 55, "rtt": r} for r in rtts]
    stats = {"min": None, "max": None, "avg": None, "total": total or len(rtts), "rcv": len(rtts)}
    own = {
        "status": status,
        "rawOutput": "",
        "resolvedAddress": "8.8.8.8",
        "timings": timings,
        "stats": stats,
        **result,
    }
    return {
        "id": "gp1",
        "type": "ping",
        "target": "8.8.8.8",
        "probesCount": 1,
        "status": "in-progress" if status == "in-progress" else "finished",
        "createdAt": "2026-11-21T10:00:00.000Z",
        "updatedAt": "2026-11-21T10:00:02.000Z",
        "measurementOptions": {"packets": packets},
        "results": [{"probe": PROBE, "result": own}],
    }


def trace_measurement():
    """What it gives for a traceroute of three hops, one silent."""
    hops = [
        {"resolvedAddress": "192.0.2.1", "timings": [{"rtt": 1.1}, {"rtt": 1.2}]},
        {"resolvedAddress": None, "timings": []},
        {"resolvedAddress": "8.8.8.8", "timings": [{"rtt": 20.5}]},
    ]
    found = ping_measurement(1.0)
    found["type"] = "traceroute"
    found["results"][0]["result"] = {
        "status": "finished",
        "rawOutput": "",
        "hops": hops,
        "resolvedAddress": "8.8.8.8",
    }
    return found


LIMITS = {
    "rateLimit": {
        "measurements": {"create": {"type": "user", "limit": 500, "remaining": 487, "reset": 1234}}
    },
    "credits": {"remaining": 9000},
}


def atlas_ping(*rtts, sent=3, **more):
    """One result of RIPE Atlas."""
    packets = [{"rtt": r} if r is not None else {"x": "*"} for r in rtts]
    return {
        "fw": 5080,
        "prb_id": 6123,
        "msm_id": 1001,
        "type": "ping",
        "af": 4,
        "proto": "ICMP",
        "timestamp": 1_795_000_000,
        "dst_name": "8.8.8.8",
        "dst_addr": "8.8.8.8",
        "src_addr": "192.168.1.2",
        "from": "203.0.113.7",
        "sent": sent,
        "rcvd": len(rtts),
        "result": packets,
        **more,
    }
