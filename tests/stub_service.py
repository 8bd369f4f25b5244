"""An OpenAI-compatible service on this machine that fails as it is told."""

import json
import re
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Stub(ThreadingHTTPServer):
    """Answers chats; `plan` holds what to do with the next requests, one entry each.

    Entries: "ok", "malformed", "no-chat", "drop", or (status, headers).
    """

    daemon_threads = True

    def __init__(self, plan=()):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.plan = list(plan)
        self.lock = threading.Lock()
        self.sentences = []
        self.headers = []
        self.bodies = []

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/v1"

    def next_step(self):
        with self.lock:
            return self.plan.pop(0) if self.plan else "ok"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.lock:
            self.server.headers.append(dict(self.headers))
            self.server.bodies.append(body)
        step = self.server.next_step()
        if step == "drop":
            self.close_connection = True
            self.connection.close()
        elif isinstance(step, tuple):
            status, headers = step
            key = self.headers.get("Authorization", "")
            self.answer(status, {"error": {"message": f"told to fail, key {key}"}}, headers)
        elif step == "no-chat":
            self.answer(200, {"hello": "world"})
        else:
            self.answer(200, self.chat(body, step))

    def chat(self, body, step):
        listed = re.findall(r"^(\d+)\. (.*)$", body["messages"][1]["content"], re.MULTILINE)
        with self.server.lock:
            self.server.sentences.extend(sentence for _, sentence in listed)
        said = {number: self.said(sentence) for number, sentence in listed}
        text = "Sure, here you are!" if step == "malformed" else json.dumps(said)
        return {
            "choices": [{"message": {"role": "assistant", "content": text}}],
            "usage": {"prompt_tokens": 10 * len(listed), "completion_tokens": 5 * len(listed)},
        }

    def said(self, sentence):
        plain = sentence[0].lower() + sentence[1:]
        return [f"would it be possible to {plain}", f"my wish today: {plain}", "no values here"]

    def answer(self, status, content, headers=()):
        data = json.dumps(content).encode()
        self.send_response(status)
        for name, value in dict(headers).items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *arguments):
        pass


@contextmanager
def stub_service(plan=()):
    """A running service."""
    server = Stub(plan)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
