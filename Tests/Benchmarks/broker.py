"""Becomes a dbus-broker that listens on a socket: broker.py PATH

dbus-broker alone listens nowhere; a controller hands it a listening socket and a policy, which on a desktop is a launcher
that needs systemd. Here a child process is the controller; it allows everybody everything, and ends with the broker.
"""
import os
import socket
import struct
import sys

ANY = 0xFFFFFFFF
RULES = "bta(btbs)a(btssssuutt)a(btssssuutt)"
POLICY = f"(a(u({RULES}))a(buu({RULES}))a(ss)bs)"
CALL, PATH, INTERFACE, MEMBER, SIGNATURE, DESCRIPTORS = 1, 1, 2, 3, 8, 9


class Draft:
    """A D-Bus message, or a part of one that begins at a multiple of eight."""

    def __init__(self):
        self.bytes = bytearray()

    def pad(self, to):
        self.bytes += bytes(-len(self.bytes) % to)
        return self

    def put(self, form, value):
        size = struct.calcsize("<" + form)
        self.pad(size).bytes.extend(struct.pack("<" + form, value))
        return self

    def text(self, value):
        self.put("I", len(value)).bytes.extend(value.encode() + b"\0")
        return self

    def signature(self, value):
        self.bytes.extend(bytes([len(value)]) + value.encode() + b"\0")
        return self

    def structs(self, *elements):
        """An array of structs; each element is a function that writes one."""
        self.put("I", 0)
        place = len(self.bytes) - 4
        begin = len(self.pad(8).bytes)
        for write in elements:
            write(self.pad(8))
        struct.pack_into("<I", self.bytes, place, len(self.bytes) - begin)
        return self


def own_rule(draft):
    draft.put("I", True).put("Q", 1).put("I", True).text("")


def pass_rule(draft):
    draft.put("I", True).put("Q", 1)
    for _ in range(4):
        draft.text("")
    draft.put("I", 0).put("I", 0).put("Q", 0).put("Q", 2**64 - 1)


def for_everybody(draft):
    draft.put("I", ANY).pad(8).put("I", True).put("Q", 1)
    draft.structs(own_rule).structs(pass_rule).structs(pass_rule)


def add_listener():
    """The call that hands over descriptor 0 of the message as a listener, with the policy."""
    body = Draft().text("/org/bus1/DBus/Listener/0").put("I", 0).signature(POLICY).pad(8)
    body.structs(for_everybody).structs().structs().put("I", False).text("session")
    fields = Draft()
    for code, kind, value in [(PATH, "o", "/org/bus1/DBus/Broker"), (INTERFACE, "s", "org.bus1.DBus.Broker"),
                              (MEMBER, "s", "AddListener"), (SIGNATURE, "g", "ohv"), (DESCRIPTORS, "u", 1)]:
        fields.pad(8).bytes.append(code)
        fields.signature(kind)
        fields.put("I", value) if kind == "u" else fields.signature(value) if kind == "g" else fields.text(value)
    header = struct.pack("<cBBBIII", b"l", CALL, 0, 1, len(body.bytes), 1, len(fields.bytes))
    return header + bytes(fields.pad(8).bytes) + bytes(body.bytes)


def control(stream, listener):
    stream.sendall(b"\0AUTH EXTERNAL %s\r\nNEGOTIATE_UNIX_FD\r\nBEGIN\r\n" % str(os.getuid()).encode().hex().encode())
    socket.send_fds(stream, [add_listener()], [listener.fileno()])
    listener.close()
    while stream.recv(65536):
        pass


def main(path):
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
    listener.bind(path)
    listener.listen(4096)
    ours, theirs = socket.socketpair()
    if os.fork() == 0:
        theirs.close()
        control(ours, listener)
        return
    os.set_inheritable(theirs.fileno(), True)
    limits = [f"--max-{name}=1000000000" for name in ("bytes", "fds", "matches", "objects")]
    os.execvp("dbus-broker", ["dbus-broker", f"--controller={theirs.fileno()}", f"--machine-id={'0' * 31}1", *limits])


main(sys.argv[1])
