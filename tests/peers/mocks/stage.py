"""What the doubles share: a server on loopback, and a second entrance for the test.

A double plays a platform that nobody can run here. It is as strict as the platform's documentation: what that forbids is
refused, and so is what it would silently ignore. Every rule stands beside the page that it is from. What no request
provokes (trouble, limits, lost answers) the test orders by the second entrance:

    POST /_mock/plan   [{"match": "sendMessage", "status": 429, "headers": {}, "body": {...}}, ...]
                         for the next requests whose path has `match` in it, with `"files": true` for one that brings
                         files and with `false` for one that brings none; `"lose": "before"` closes the connection
                         and nothing is done, `"lose": "after"` closes it and it is done
    POST /_mock/happen  {...}
                         something that the platform does of its own accord, where its double knows how
    GET /_mock/requests   every request so far, in order: method, path, body, files, reason, and what became of it;
                         `played` says that the platform looked at it, and no order answered for it

A platform is a function from a `Request` to an `Answer`; `Refused` is one that it raises. One that keeps connections open has
`upgraded`, which is given the WebSocket (`websocket.py`) and its path, one that does something by itself `happens`, and one that
lets a request wait for that `waits`, which may block and is given the request before its turn comes.
"""

import hashlib
import json
import sys
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, unquote, urlsplit

from multipart import MultipartParser, parse_options_header

import websocket

MOST = 64 * 1024 * 1024


@dataclass
class File:
    """A file of a form."""

    name: str
    kind: str
    data: bytes


@dataclass
class Request:
    """A request: its path in segments, its body as JSON or as a form."""

    method: str
    path: list
    headers: dict
    kind: str
    body: object = None
    fields: dict = field(default_factory=dict)
    files: dict = field(default_factory=dict)
    query: dict = field(default_factory=dict)


@dataclass
class Answer:
    """An answer; no body where that is None."""

    status: int
    body: object = None
    headers: dict = field(default_factory=dict)


class Refused(Exception):
    """The platform says no, with this answer."""

    def __init__(self, answer):
        super().__init__(str(answer.body))
        self.answer = answer


def units(text):
    """Its length in UTF-16 units."""
    return len(text.encode("utf-16-le")) // 2


def serve(port, platform):
    """Plays `platform` on this port until it is stopped."""
    lock, plan, requests = threading.Lock(), [], []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            pass

        def read(self):
            length = int(self.headers.get("content-length") or 0)
            if length > MOST or "chunked" in (self.headers.get("transfer-encoding") or ""):
                raise ValueError("a body of unknown or absurd length")
            raw = self.rfile.read(length)
            kind, options = parse_options_header(self.headers.get("content-type") or "")
            headers = {name.lower(): value for name, value in self.headers.items()}
            path = [unquote(part) for part in urlsplit(self.path).path.strip("/").split("/")]
            query = dict(parse_qsl(urlsplit(self.path).query))
            request = Request(self.command, path, headers, kind, query=query)
            if kind == "application/json":
                # Slack's own client says JSON of nothing.
                request.body = json.loads(raw) if raw else None
            elif kind == "application/x-www-form-urlencoded":
                request.fields = dict(parse_qsl(raw.decode(), keep_blank_values=True))
            elif kind == "multipart/form-data":
                import io

                for part in MultipartParser(io.BytesIO(raw), options["boundary"], content_length=length):
                    if part.filename is None:
                        request.fields[part.name] = part.raw.decode()
                    else:
                        assert part.name not in request.files, f"{part.name} twice"
                        request.files[part.name] = File(part.filename, part.content_type, part.raw)
            elif raw:
                raise ValueError(f"a body of type {kind!r}")
            return request

        def answer(self, answer):
            data = b"" if answer.body is None else json.dumps(answer.body).encode()
            if isinstance(answer.body, str):
                data = answer.body.encode()
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            if answer.status != 204:
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            if answer.status != 204:
                self.wfile.write(data)

        def play(self):
            if self.headers.get("upgrade") == "websocket" and hasattr(platform, "upgraded"):
                self.close_connection = True
                return platform.upgraded(websocket.accept(self), self.path)
            try:
                request = self.read()
            except Exception as error:
                self.close_connection = True
                return self.answer(Answer(400, {"message": f"not understood: {error}", "code": 0}))
            if request.path == ["_mock", "happen"]:
                return self.answer(Answer(200, platform.happens(request.body)))
            if request.path[0] == "_mock":
                with lock:
                    if request.method == "POST":
                        plan.extend(request.body)
                    return self.answer(Answer(200, list(requests)))
            if hasattr(platform, "waits"):
                platform.waits(request)
            with lock:
                at = "/".join(request.path)
                brings = bool(request.files)
                meant = (order for order in plan if order.get("match", "") in at)
                order = next((order for order in meant if order.get("files", brings) == brings), None)
                if order:
                    plan.remove(order)
                note = {
                    "method": request.method,
                    "path": at,
                    "body": request.body if request.body is not None else dict(request.fields),
                    "files": {
                        name: {"name": file.name, "kind": file.kind, "sha256": hashlib.sha256(file.data).hexdigest()}
                        for name, file in request.files.items()
                    },
                    "reason": request.headers.get("x-audit-log-reason"),
                }
                lost = order and order.get("lose")
                note["played"] = not order or lost == "after"
                if not note["played"]:
                    answer = Answer(order.get("status", 500), order.get("body"), order.get("headers", {}))
                else:
                    try:
                        answer = platform(request)
                    except Refused as refused:
                        answer = refused.answer
                note.update(status=answer.status, answer=answer.body, lost=lost)
                requests.append(note)
            if lost:
                self.close_connection = True
                return None
            return self.answer(answer)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = play

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    server.daemon_threads = True
    print(f"listening on {port}", file=sys.stderr, flush=True)
    server.serve_forever()
