"""Receiving app of one daemon, as a process of its own that the soak kills: it answers each request and handles each
item.

    receiver.py SOCKET APP JOURNAL

A line of the journal is written before the daemon learns the verdict, as an app does that must survive its own end:
`CHANNEL NUMBER ATTEMPT` of a delivery, `end IDENTIFIER OUTCOME` of an own item. The app ends with its input.
"""
import contextlib
import hashlib
import os
import pathlib
import sys
import threading
import time
import types

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "campaign"))

from daemons import CaseFailure  # noqa: E402
from apps import App, Refused  # noqa: E402
from frames import ProtocolError, decode, encode  # noqa: E402

PAUSE = 0.1  # seconds between two attempts at a connection


class ReceivingApp:
    def __init__(self, path, app, journal):
        self.daemon, self.app = types.SimpleNamespace(socket=path), app
        self.journal = os.open(journal, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def run(self):
        while True:
            with contextlib.suppress(OSError, Refused, ProtocolError, CaseFailure):
                self.live()
            time.sleep(PAUSE)

    def live(self):
        """One connection, until the daemon ends it."""
        connection = App(self.daemon, self.app, receives=True)
        try:
            early, connection.kept = connection.kept, []
            for envelope in early:
                self.take(connection, envelope)
            while True:
                with contextlib.suppress(TimeoutError):
                    self.take(connection, connection.read(60))
        finally:
            connection.close()

    def take(self, connection, envelope):
        whose = {key: envelope.get(key) for key in ("app", "pairing", "id")}
        match envelope["kind"]:
            case "message" if envelope.get("reply"):
                number = decode(envelope["body"])["n"]
                connection.send(kind="reply", **whose, body=encode({"n": number}))
            case "delivery":
                channel = envelope["channel"]
                self.note(channel, self.number_of(channel, decode(envelope["body"])), envelope["attempt"])
                connection.handle(envelope)
            case "finished":
                self.note("end", envelope["id"].hex(), envelope["name"])
                connection.send(kind="finishedAck", **whose, channel=envelope["channel"])

    def number_of(self, channel, body):
        """The item's number; -1 of a file that is not what was sent."""
        if channel != "file":
            return body["n"]
        data = pathlib.Path(body["path"]).read_bytes()
        is_whole = len(data) == body["size"] and hashlib.sha256(data).digest() == body["metadata"]["digest"]
        return body["metadata"]["n"] if is_whole else -1

    def note(self, *words):
        os.write(self.journal, f"{' '.join(map(str, words))}\n".encode())


def end_with_input():
    sys.stdin.buffer.read()
    os._exit(0)


if __name__ == "__main__":
    threading.Thread(target=end_with_input, daemon=True).start()
    ReceivingApp(*sys.argv[1:]).run()
