"""Globalping and RIPE Atlas on loopback: they speak the documented API, and misbehave as told."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

GLOBALPING_KEY, ATLAS_KEY = "secret-token-of-globalping", "11111111-secret-of-atlas"


class Network:
    """A server with a script: faults are (status, headers, body) to be given first, by path."""

    def __init__(self):
        self.faults, self.asked, self.bodies, self.keys = {}, [], [], []
        self.documents = {}  # path: document, or a list of documents that follow each other
        self.etags = {}
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *args):
                pass

            def do_GET(self):
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
        if path == "/v1/measurements":
            name = f"gp{len(self.bodies)}"
            return 202, {"Location": f"{self.url}/v1/measurements/{name}"}, {
                "id": name, "probesCount": 1}  # fmt: skip
        return 201, {}, {"measurements": [1000 + len(self.bodies)]}

    def answer(self, handler, status, headers, body):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data)


class Series:
    """Documents one after another; the last one stays."""

    def __init__(self, *documents):
        self.documents = list(documents)

    def next(self):
        return self.documents.pop(0) if len(self.documents) > 1 else self.documents[0]


PROBE = {
    "continent": "EU", "region": "Western Europe", "country": "DE", "state": None,
    "city": "Berlin", "asn": 3320, "longitude": 13.41, "latitude": 52.52,
    "network": "Deutsche Telekom AG", "tags": [], "resolvers": ["private"],
}  # fmt: skip


def ping_measurement(*rtts, status="finished", total=None, packets=3, **result):
    """What ``GET /v1/measurements/ID`` gives for a ping."""
    timings = [{"ttl": 55, "rtt": r} for r in rtts]
    stats = {"min": None, "max": None, "avg": None, "total": total or len(rtts), "rcv": len(rtts)}
    own = {"status": status, "rawOutput": "", "resolvedAddress": "8.8.8.8",
           "timings": timings, "stats": stats, **result}  # fmt: skip
    return {
        "id": "gp1", "type": "ping", "target": "8.8.8.8", "probesCount": 1,
        "status": "in-progress" if status == "in-progress" else "finished",
        "createdAt": "2026-11-21T10:00:00.000Z", "updatedAt": "2026-11-21T10:00:02.000Z",
        "measurementOptions": {"packets": packets}, "results": [{"probe": PROBE, "result": own}],
    }  # fmt: skip


def trace_measurement():
    """What it gives for a traceroute of three hops, one silent."""
    hops = [
        {"resolvedAddress": "192.0.2.1", "timings": [{"rtt": 1.1}, {"rtt": 1.2}]},
        {"resolvedAddress": None, "timings": []},
        {"resolvedAddress": "8.8.8.8", "timings": [{"rtt": 20.5}]},
    ]
    found = ping_measurement(1.0)
    found["type"] = "traceroute"
    found["results"][0]["result"] = {"status": "finished", "rawOutput": "", "hops": hops,
                                     "resolvedAddress": "8.8.8.8"}  # fmt: skip
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
        "fw": 5080, "prb_id": 6123, "msm_id": 1001, "type": "ping", "af": 4, "proto": "ICMP",
        "timestamp": 1_795_000_000, "dst_name": "8.8.8.8", "dst_addr": "8.8.8.8",
        "src_addr": "192.168.1.2", "from": "203.0.113.7", "sent": sent, "rcvd": len(rtts),
        "result": packets, **more,
    }  # fmt: skip
