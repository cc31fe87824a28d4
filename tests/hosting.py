"""A web server on a real socket that answers each request as the test says, well or badly."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

Answer = Callable[[BaseHTTPRequestHandler], None]


@dataclass
class Site:
    """`answers` are given in turn, the last one from then on; `requests` are the headers that came."""

    answers: list[Answer]
    address: str = ""
    requests: list[dict[str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)


@contextmanager
def hosting(*answers: Answer, name: str = "us+census+data+1990.zip") -> Iterator[Site]:
    site = Site(list(answers))

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            turn = len(site.requests)
            site.requests.append(dict(self.headers.items()))
            site.paths.append(self.path)
            with suppress(ConnectionError):  # the client may have gone
                site.answers[min(turn, len(site.answers) - 1)](self)
            self.close_connection = True

        def do_POST(self) -> None:  # what is posted stands in the path, as in a request by GET
            self.path += "?" + self.rfile.read(int(self.headers["Content-Length"])).decode()
            self.do_GET()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        server.block_on_close = False
        site.address = f"http://127.0.0.1:{server.server_port}/static/{name}"
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        try:
            yield site
        finally:
            server.shutdown()


def whole(content: bytes, *, cut: int | None = None, pause_s: float = 0.0) -> Answer:
    """Return a server that sends `content`; it breaks off after `cut` bytes, or sends in fifty pieces with a pause after each."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        sent = content[:cut]
        size = max(1, len(sent) // 50) if pause_s else len(sent)
        for place in range(0, len(sent), size):
            handler.wfile.write(sent[place : place + size])
            handler.wfile.flush()
            time.sleep(pause_s)

    return answer


def chunked(content: bytes, cut: int | None = None) -> Answer:
    """Answer in chunks, without announcing a length; `cut` after so many bytes, in the midst of a chunk."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.protocol_version = "HTTP/1.1"
        handler.send_response(200)
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        sent = f"{len(content):x}\r\n".encode() + content[:cut]
        handler.wfile.write(sent if cut else sent + b"\r\n0\r\n\r\n")

    return answer


def page(status: int = 200) -> Answer:

    def answer(handler: BaseHTTPRequestHandler) -> None:
        body = b"<!DOCTYPE html><html><body>Log in to this network, or come back later.</body></html>" * 20
        handler.send_response(status)
        handler.send_header("Content-Type", "text/html")
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    return answer


def silence(after: bytes, for_s: float) -> Answer:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", str(10 * len(after)))
        handler.end_headers()
        handler.wfile.write(after)
        handler.wfile.flush()
        time.sleep(for_s)

    return answer
