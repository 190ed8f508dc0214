"""The console's figures, each with its target, as lines of JSON (see ratios.py), for console.sh.

    console.py app SOCKET APP                               an app with a page of 500 keys, until it is stopped
    console.py measure ADDRESS APP CONSOLE DAEMON LOADS     by the address that a console has printed, and pids
"""
import hashlib
import http.client
import json
import re
import resource
import socket
import statistics
import sys
import time
import urllib.parse
import uuid
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "SystemTests/python_client"))

from frames import decode, encode  # noqa: E402
from session import Session  # noqa: E402

KEYS = 500
PAGES, EDITS = 50, 10
# What the first loads leave is no growth: tables, buffers and free lists of the allocator.
WARM_UP = 300
# The console's least time from one look at an app to the next (LIM-126), and room.
BETWEEN_EDITS = 0.7
MEBIBYTE = 1 << 20


class SettingsApp(Session):
    """An app that declares settings and reads nothing."""

    def _register(self, receives):
        rules = {"type": "string", "editor": "edit", "description": "one of many"}
        fields = [rules | {"key": f"key{it}", "title": f"Key {it}", "default": f"a value of some length {it}"}
                  for it in range(KEYS)]
        schema = encode({"v": 1, "properties": fields})
        digest = hashlib.sha256(schema).digest()
        self._send(kind="register", app=self.app, body=encode({"receives": receives, "schema": digest}))
        self.registration = self.situation = decode(self._next("registered")["body"])
        if self.registration.get("schema"):
            self._send(kind="query", app=self.app, command="schema", id=uuid.uuid4().bytes, body=encode({"schema": schema}))


def app(path, name):
    session = SettingsApp(path, name, receives=True, timeout=86_400)
    print("registered", flush=True)
    while True:
        session.receive(None)


def resident(process):
    """(all, what is no file's) resident bytes."""
    _, pages, of_files = Path(f"/proc/{process}/statm").read_text().split()[:3]
    return int(pages) * resource.getpagesize(), (int(pages) - int(of_files)) * resource.getpagesize()


def busy(*processes):
    """Milliseconds that the processes have been on a processor."""
    tasks = [task for process in processes for task in Path(f"/proc/{process}/task").iterdir()]
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e6


def plain(page):
    """The beginning of what a page says."""
    return " ".join(re.sub("<[^>]*>", " ", page.partition("<main")[2]).split())[:300]


class Browser:
    """A browser with one connection, which it keeps."""

    def __init__(self, address):
        origin, token = address.split("/#")
        self.origin, self.host = origin, origin.split("//")[1]
        name, port = self.host.split(":")
        self.socket = socket.create_connection((name, int(port)))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.cookie = ""
        status, head, _ = self.post("/enter", {"token": token})
        assert status == 303, head
        self.cookie = re.search(r"Set-Cookie: ([^;]*)", head).group(1)

    def send(self, method, path, body=None):
        """(status, head, body, seconds to the first byte)."""
        fields = [f"{method} {path} HTTP/1.1", f"Host: {self.host}", f"Cookie: {self.cookie}"]
        if body is not None:
            fields += [f"Origin: {self.origin}", "Content-Type: application/x-www-form-urlencoded",
                       f"Content-Length: {len(body)}"]
        began = time.perf_counter()
        self.socket.sendall("\r\n".join([*fields, "", body or ""]).encode())
        data = self.socket.recv(1 << 20)
        first = time.perf_counter() - began
        while b"\r\n\r\n" not in data:
            data += self.socket.recv(1 << 20)
        head, _, rest = data.partition(b"\r\n\r\n")
        length = int(re.search(rb"Content-Length: (\d+)", head, re.I).group(1))
        parts, count = [rest], len(rest)
        while count < length:
            parts.append(self.socket.recv(1 << 20))
            count += len(parts[-1])
        return int(head.split(b" ")[1]), head.decode(), b"".join(parts).decode(), first

    def get(self, path):
        status, head, page, first = self.send("GET", path)
        assert status == 200, f"{path}: {status} {plain(page)}"
        return page, first

    def post(self, path, fields):
        return self.send("POST", path, urllib.parse.urlencode(fields))[:3]

    def events(self, path):
        """The lines of a stream, over a connection of its own."""
        connection = http.client.HTTPConnection(self.host, timeout=20)
        connection.request("GET", path, headers={"Cookie": self.cookie})
        return connection.getresponse()


def show(case, unit, value, target=None, spread=None):
    row = {"table": "Console", "case": case, "unit": unit, "value": value, "spread": spread}
    if target is not None:
        row |= {"target": target, "met": round(value, 3) <= target}
    print(json.dumps(row))


def show_many(case, unit, values, target):
    middle = statistics.median(values)
    show(case, unit, middle, target, (max(values) - min(values)) / middle)


def wait_for_event(stream, name):
    """Passes over what comes before it; a console that never sends it ends the run."""
    end = time.monotonic() + 20
    while not (line := stream.readline()).startswith(b"event: " + name):
        if not line or time.monotonic() > end:
            sys.exit(f"no event '{name.decode()}' came from the console")


def live_updates(browser, page):
    """Milliseconds from sending the form with an edit until the event at an open page."""
    text = browser.get(page)[0]
    form = re.search(r'name="form" value="(\w+)"', text.partition('id="values"')[2]).group(1)
    stream = browser.events(re.search(r'data-events="([^"]+)"', text).group(1))
    wait_for_event(stream, b"current")
    taken = []
    for number in range(EDITS):
        time.sleep(BETWEEN_EDITS)
        began = time.perf_counter()
        status, _, refusal = browser.post(page, {"form": form, "v.key0": f"edit {number}"})
        assert status == 303, plain(refusal)
        wait_for_event(stream, b"settings")
        taken.append((time.perf_counter() - began) * 1000)
    return taken


def growth(browser, pages, processes, loads):
    """Bytes by which each process is larger after so many loads."""
    def load(count):
        for number in range(count):
            browser.get(pages[number % len(pages)])
        # What an allocator keeps for a moment is given back at rest.
        time.sleep(2)
        return [resident(process)[0] for process in processes]
    before = load(WARM_UP)
    return [after - first for after, first in zip(load(loads), before)]


def measure(address, app, console, daemon, loads):
    time.sleep(2)
    whole, own = resident(console)
    show("console at rest, resident", "MiB", whole / MEBIBYTE, 10)
    show("console at rest, without pages of files", "MiB", own / MEBIBYTE)
    browser, page = Browser(address), f"/apps/{app}"
    text = browser.get(page)[0]
    assert text.count('class="row') >= KEYS, "the page does not have all keys"
    before = [busy(console), busy(daemon)]
    show_many(f"page of {KEYS} keys, to the first byte", "ms",
              [browser.get(page)[1] * 1000 for _ in range(PAGES)], 50)
    # The one figure that other work on the machine leaves alone.
    for name, process, first in zip(("console", "daemon"), (console, daemon), before):
        show(f"page of {KEYS} keys, CPU of the {name}", "ms", (busy(process) - first) / PAGES)
    show_many("live update: an edit's form to the event elsewhere", "ms", live_updates(browser, page), 100)
    grown = growth(browser, [page, *["/", "/apps"] * 4, "/"], [daemon, console], int(loads))
    for name, value, target in zip(("daemon", "console"), grown, (0.1, None)):
        show(f"{name}, growth over {int(loads):,} page loads", "MiB", value / MEBIBYTE, target)


if __name__ == "__main__":
    {"app": app, "measure": measure}[sys.argv[1]](*sys.argv[2:])
