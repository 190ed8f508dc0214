"""Mutants of files: bytes that are others or too few, and words about a file that are not true."""
import posixpath

from mutant import SECONDARY, Mutant, body_of, with_body, without

WHOLE = "FIL-10: files arrive whole"


def is_file(frame, kind):
    return frame["kind"] == kind and frame["channel"] == "file"


class FileShort(Mutant):
    """loses the last byte of a file"""
    clause, judges = "FIL-4", WHOLE

    def __init__(self, place):
        super().__init__(place)
        self.sizes = {}

    def to_daemon(self, frame, line):
        if is_file(frame, "submit"):
            self.sizes[frame["id"]] = size = max(0, body_of(frame)["size"] - 1)
            frame = with_body(frame, size=size)
        elif is_file(frame, "chunk"):
            body = frame["body"][:max(0, self.sizes[frame["id"]] - frame["offset"])]
            if not body:
                return
            frame = frame | {"body": body}
        yield frame


class FileFlipped(Mutant):
    """changes the first byte of each part of a file"""
    clause, judges, is_short = "FIL-4", WHOLE, True

    def to_daemon(self, frame, line):
        if is_file(frame, "chunk"):
            frame = frame | {"body": bytes([frame["body"][0] ^ 1]) + frame["body"][1:]}
        yield frame


class MetadataLost(Mutant):
    """loses a file's metadata"""
    clause, judges = "FIL-2", WHOLE

    def to_daemon(self, frame, line):
        yield with_body(frame, metadata=None) if is_file(frame, "submit") else frame


class FileProgressDropped(Mutant):
    """does not say how much of a file the receiver has"""
    clause, judges = "FIL-10", "FIL-10: a sender is told"

    def to_app(self, frame, line):
        if not is_file(frame, "progress") or frame["name"] != "transferred":
            yield frame


class TakingUntold(Mutant):
    """does not say how much of a file it has taken"""
    clause, judges = "FIL-3", "FIL-3: a sender is told"

    def to_app(self, frame, line):
        if not is_file(frame, "progress") or frame["name"] != "taking" or frame["offset"] == 0:
            yield frame


class Manifests(Mutant):
    """A mutant of what a receiver's app is told of a file."""
    judges, side = WHOLE, SECONDARY

    def to_app(self, frame, line):
        yield with_body(frame, **self.changes(body_of(frame))) if is_file(frame, "delivery") else frame


class FileRenamed(Manifests):
    """tells another name than the sender's"""
    clause = "FIL-12"

    def changes(self, body):
        return {"name": f"{body['name']}~"}


class FileNameObeyed(Manifests):
    """puts a file where its name leads"""
    clause, judges = "FIL-12", "FIL-12: a name that leads elsewhere"

    def changes(self, body):
        return {"path": posixpath.join(posixpath.dirname(body["path"]), body["name"])}


class FileNameReduced(Manifests):
    """tells an app the name of the received file for that of the sender's"""
    clause, judges = "FIL-12", "FIL-12: a name that leads elsewhere"

    def changes(self, body):
        return {"name": posixpath.basename(body["path"])}


class SpoiledUntold(Mutant):
    """says of a file with other bytes than its digest says that it was handled"""
    clause, judges = "FIL-11", "FIL-11: a file of other bytes"

    def to_app(self, frame, line):
        is_meant = is_file(frame, "finished") and frame["name"] == "dead"
        yield without(frame, "code", "body") | {"name": "handled"} if is_meant else frame


class FileSizeWrong(Manifests):
    """tells a size that is not the file's"""
    clause = "FIL-11"

    def changes(self, body):
        return {"size": body["size"] + 1}


class FileDigestWrong(Manifests):
    """tells a digest that is not the file's"""
    clause = "FIL-4"

    def changes(self, body):
        return {"digest": bytes(32)}
