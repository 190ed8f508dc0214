"""A host app on pymobiledevice3's connection and codec; Protocol/Session.md is all it knows of Tandem. The simulator
is behind a usbmuxd (usbmux.py), whose address is in USBMUXD_SOCKET_ADDRESS.

    pymobile.py ask PORT APP DIR       sends DIR/NN.plist, one after the other's reply, and stores that as NN.reply
    pymobile.py answer PORT APP DIR    stores what it reads as NN.message and sends it back, encoded again
    pymobile.py refused PORT APP DIR   that the library's XML lists are refused by name (FRM-6 a)
"""
import asyncio
import os
import plistlib
import sys
import uuid
from pathlib import Path

from pymobiledevice3.service_connection import ServiceConnection, build_plist, parse_plist

COUNT, SECONDS = 30, 300


def written(value):
    return build_plist(value, fmt=plistlib.FMT_BINARY)[4:]


class App:
    def __init__(self, connection, name):
        self.connection, self.name, self.state = connection, name, {}

    async def send(self, **envelope):
        await self.connection.send_plist(envelope, fmt=plistlib.FMT_BINARY)

    async def next(self, kind):
        """The next frame of this kind; a state before it is kept, a ping answered, a refusal or failure the end."""
        while True:
            envelope = await self.connection.recv_plist()
            match envelope["kind"]:
                case "state" | "registered":
                    self.state = parse_plist(envelope["body"])
                case "ping":
                    await self.send(kind="pong")
                case "refusal" | "failure" if envelope["kind"] != kind:
                    raise SystemExit(f"{envelope['kind']} {envelope.get('name')}: {parse_plist(envelope['body'])}")
            if envelope["kind"] == kind:
                return envelope

    async def greet(self):  # SES-1, SES-5
        hello = {"minimum": 1, "maximum": 1, "capabilities": ["message"], "software": "pymobiledevice3"}
        await self.send(kind="hello", body=written(hello))
        await self.next("hello")
        await self.send(kind="register", app=self.name, body=written({"receives": True}))
        await self.next("registered")
        print("ready", flush=True)

    async def ask(self, directory):
        while not any(pairing["level"] == "immediate" for pairing in self.state["pairings"]):
            await self.next("state")
        for number in range(COUNT):
            body = written(parse_plist((directory / f"{number:02}.plist").read_bytes()))
            identifier = uuid.uuid4().bytes
            await self.send(
                kind="message", app=self.name, pairing=self.state["active"], id=identifier, reply=True, body=body)
            reply = await self.next("reply")
            if reply["id"] != identifier:
                raise SystemExit(f"reply {number} answers another message")
            (directory / f"{number:02}.reply").write_bytes(written(parse_plist(reply["body"])))

    async def answer(self, directory):
        for number in range(COUNT):
            message = await self.next("message")
            body = written(parse_plist(message["body"]))
            (directory / f"{number:02}.message").write_bytes(body)
            await self.send(kind="reply", app=self.name, pairing=message["pairing"], id=message["id"], body=body)

    async def refused(self, _):
        await self.connection.send_plist({"kind": "ping"})  # the library's default is XML
        refusal = await self.next("refusal")
        if refusal["name"] != "malformed":
            raise SystemExit(f"XML was refused as {refusal['name']}")


async def main(command, port, name, directory):
    address = os.environ["USBMUXD_SOCKET_ADDRESS"].removeprefix("UNIX:")  # libusbmuxd's word for a path
    dialled = ServiceConnection.create_using_usbmux(None, int(port), usbmux_address=address)
    async with await dialled as connection, asyncio.timeout(SECONDS):
        app = App(connection, name)
        await app.greet()
        await getattr(app, command)(Path(directory))
        if command != "refused":
            await app.send(kind="bye")


asyncio.run(main(*sys.argv[1:]))
