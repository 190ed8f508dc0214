"""The readers and writers of others: CPython's plistlib in this process, libplist in its own, because it may die.

libplist writes again what it has read as a binary property list, which plistlib then reads: its XML would cut reals and
dates.
"""
import ctypes
import plistlib
import resource
import select
import struct
import subprocess
import sys

LIBRARY = "libplist-2.0.so.3"
SECONDS, MEMORY = 10, 1 << 30
READY = b"ready"


class PlistLib:
    """CPython's plistlib."""

    def value(self, data):
        """The value of a binary property list in Python's types, or None for a refusal."""
        try:
            return plistlib.loads(data, fmt=plistlib.FMT_BINARY)
        except Exception:  # it answers malformed input with whatever its code meets first
            return None

    def accepts(self, data):
        # Null is None in Python, and no refusal.
        try:
            plistlib.loads(data, fmt=plistlib.FMT_BINARY)
            return True
        except Exception:
            return False

    def close(self):
        pass


class LibPlist:
    """libplist in a process that is started again when an input has killed it."""

    def __init__(self):
        self.process = None

    @staticmethod
    def is_present():
        try:
            ctypes.CDLL(LIBRARY)
            return True
        except OSError:
            return False

    def rewritten(self, data):
        """The same property list as libplist writes it; None if it refuses it, dies of it or takes too long."""
        if self.process is None:
            self.process = subprocess.Popen([sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            if self.process.stdout.read(len(READY)) != READY:
                raise RuntimeError(f"{LIBRARY} cannot be driven")
        try:
            self.process.stdin.write(struct.pack(">I", len(data)) + data)
            self.process.stdin.flush()
            if not select.select([self.process.stdout], [], [], SECONDS)[0]:
                raise TimeoutError
            length, = struct.unpack(">I", self.process.stdout.read(4))
            return self.process.stdout.read(length) or None
        except (TimeoutError, BrokenPipeError, struct.error):
            self.close()
            return None

    def value(self, data):
        rewritten = self.rewritten(data)
        return None if rewritten is None else PlistLib().value(rewritten)

    def accepts(self, data):
        return self.rewritten(data) is not None

    def close(self):
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
            self.process = None


def serve():
    """The other process: one length and one input after the other, an answer of length 0 for a refusal."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    library = ctypes.CDLL(LIBRARY)
    library.plist_from_bin.argtypes = [ctypes.c_char_p, ctypes.c_uint32, ctypes.POINTER(ctypes.c_void_p)]
    library.plist_to_bin.argtypes = [
        ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_uint32)]
    library.plist_free.argtypes = library.plist_to_bin_free.argtypes = [ctypes.c_void_p]
    source, target = sys.stdin.buffer, sys.stdout.buffer
    target.write(READY)
    target.flush()
    while len(head := source.read(4)) == 4:
        answer = rewrite(library, source.read(*struct.unpack(">I", head)))
        target.write(struct.pack(">I", len(answer)) + answer)
        target.flush()


def rewrite(library, data):
    node, place, length = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_uint32()
    library.plist_from_bin(data, len(data), ctypes.byref(node))
    if not node:
        return b""
    library.plist_to_bin(node, ctypes.byref(place), ctypes.byref(length))
    library.plist_free(node)
    answer = ctypes.string_at(place, length.value) if place else b""
    library.plist_to_bin_free(place)
    return answer


if __name__ == "__main__":
    serve()
