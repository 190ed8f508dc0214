"""Devices that may do everything wrong: a secondary in Python, paired by its fingerprint (PAR-11), that speaks the
device link inside TLS. The key is Ed25519, made by openssl; of the certificate only the key counts (PAR-1).
"""
import base64
import concurrent.futures
import hashlib
import socket
import ssl
import subprocess
import uuid

from apps import CAPABILITIES, Stream
from daemons import require
from frames import decode, encode

PREFIX = bytes.fromhex("302a300506032b6570032100")  # SubjectPublicKeyInfo of Ed25519, before the 32 bytes of the key


class Identity:
    """A device's key and what follows from it."""

    def __init__(self, workspace, number):
        self.key, self.certificate = workspace / f"peer-{number}.pem", workspace / f"peer-{number}.crt"
        openssl("genpkey", "-algorithm", "ed25519", "-out", self.key)
        openssl("req", "-new", "-x509", "-key", self.key, "-out", self.certificate, "-subj", "/CN=peer")
        self.public = openssl("pkey", "-in", self.key, "-pubout", "-outform", "DER")
        require(self.public.startswith(PREFIX), "openssl wrote another kind of key")
        pin = hashlib.sha256(self.public).digest()
        text = base64.b32encode(pin).decode().rstrip("=")
        self.fingerprint = "-".join(text[at:at + 4] for at in range(0, len(text), 4))
        vendor = bytearray(pin[:16])
        vendor[6] = vendor[6] & 0x0F | 0x80
        vendor[8] = vendor[8] & 0x3F | 0x80
        self.vendor = bytes(vendor)
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self.context.check_hostname = False
        self.context.verify_mode = ssl.CERT_NONE
        self.context.minimum_version = ssl.TLSVersion.TLSv1_3
        self.context.load_cert_chain(self.certificate, self.key)


def openssl(*arguments):
    command = ["openssl", *map(str, arguments)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout


def identities(workspace, count):
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        return list(pool.map(lambda number: Identity(workspace, number), range(count)))


class Link(Stream):
    """A connection to a hub's link listener, TLS done, nothing said."""

    def __init__(self, identity, port, receive_buffer=None):
        stream = socket.socket()
        if receive_buffer:
            stream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        try:
            stream.settimeout(10)
            stream.connect(("127.0.0.1", port))
            stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            secured = identity.context.wrap_socket(stream)
        except BaseException:
            stream.close()
            raise
        super().__init__(secured)


class Peer:
    """A paired secondary."""

    def __init__(self, hub, identity, name):
        self.hub, self.identity, self.name = hub, identity, name
        self.pairing, self.epoch = None, 1
        self.instance = uuid.uuid4().bytes

    def pair(self):
        self.hub.control("trust-device", fingerprint=self.identity.fingerprint, role="secondary", name=self.name)
        stream = Link(self.identity, self.hub.ports[0])
        stream.send(kind="join", body=encode({
            "method": "trust", "name": self.name, "reportKey": self.identity.public, "minimum": 1, "maximum": 1}))
        joined = decode(stream.next("joined")["body"])
        stream.close()
        self.pairing, self.epoch = joined["pairing"], joined["epoch"]
        return self

    def hello(self, received=(), sent=()):
        return encode({
            "minimum": 1, "maximum": 1, "capabilities": CAPABILITIES, "software": "hostile 1", "role": "secondary",
            "device": self.identity.vendor, "name": self.name, "epoch": self.epoch, "instance": self.instance,
            "received": list(received), "sent": list(sent)})

    def link(self, apps=(), port=None, receive_buffer=None, received=(), sent=()):
        """A link after both hellos, with these apps announced as running."""
        stream = Link(self.identity, port or self.hub.ports[0], receive_buffer)
        try:
            stream.send(kind="hello", pairing=self.pairing, body=self.hello(received, sent))
            stream.greeting = decode(stream.next("hello")["body"])
            for app in apps:
                self.announce(stream, app)
        except BaseException:
            stream.close()
            raise
        return stream

    @staticmethod
    def announce(stream, app, **values):
        stream.send(kind="application", app=app, body=encode({
            "installed": True, "connected": True, "anchored": False, "seen": "immediate", **values}))
