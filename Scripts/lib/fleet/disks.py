"""A disk that is full exactly when a configuration is to become active (CFG-35): the old one stays, whole; `applied` is
not reported; and once there is room the new one applies.
"""
import errno
import os
import signal
import subprocess

from case import Case
from daemons import require
from host import APP, Configuration, HostApp, Signer, active_file
from views import applied, applied_disagreement, described, desired_of, settle, state_of

PAGE = 4_096
# Free pages of the full disk, and whether the kiosk is killed meanwhile.
TIMES = (0, True), (1, True), (0, False), (1, False)


class SmallDisk:
    """A file system of 256 KiB in the place of an app's directory."""

    def __init__(self, path):
        self.path = path
        self.ballast = os.path.join(path, "ballast")
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k,mode=0700", "tmpfs", path], check=True)

    def fill(self, spare):
        """Leaves so many pages."""
        with open(self.ballast, "wb", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(PAGE))
            except OSError as error:
                require(error.errno == errno.ENOSPC, f"the disk failed with {error}")
            file.truncate(max(0, file.tell() - spare * PAGE))

    def free(self):
        os.unlink(self.ballast)

    def end(self):
        subprocess.run(["umount", "--lazy", self.path], check=False, stderr=subprocess.DEVNULL)


def full(world):
    """With room for nothing, and with room for the first of the two files; the kiosk is killed meanwhile, or not."""
    hub, kiosk, _ = world.pair()
    signer = Signer(world, hub)
    first = HostApp(kiosk, signer.anchor).until_registered()
    first.stop()
    kiosk.stop()
    disk = SmallDisk(first.directory)
    try:
        kiosk.start()
        app = HostApp(kiosk, signer.anchor).until_registered()
        kept, version = applied(hub, kiosk, app, signer.sign(1)), 1
        for spare, is_killed in TIMES[:2] if world.short else TIMES:
            version += 1
            kept = overcome(hub, kiosk, app, disk, kept, signer.sign(version), spare, is_killed)
        applied(hub, kiosk, app, signer.sign(version + 1))
        app.stop()
    finally:
        world.end()
        disk.end()
    return f"{version - 1} times full: the old one stayed, then the new one applied; the next version applies"


def overcome(hub, kiosk, app, disk, kept, path, spare, is_killed):
    wanted = Configuration(path.read_bytes())
    app.bows = False
    filled = []
    def fill(event):
        if event == "offer" and not filled:
            disk.fill(spare)
            filled.append(True)
    app.heard = fill
    hub.command("apply", "--app", APP, "--wait", "1s", path)
    require(filled, "the app was offered nothing")
    file, row, state = active_file(app.directory), desired_of(hub, kiosk.name), state_of(kiosk)
    require(file and file.envelope == kept.envelope, f"on the full disk the file is version {file and file.version}")
    require(row.get("verdict") != "applied" and state.get("digest") == kept.digest,
            f"on the full disk the hub has {described(row)}, the kiosk {described(state)}")
    app.bows = True
    if is_killed:
        kiosk.stop(signal.SIGKILL)
    disk.free()
    if is_killed:
        kiosk.start()
    settle(applied_disagreement, hub, kiosk, app, wanted, seconds=60)
    return wanted


CASES = (
    Case("5a", "a disk that is full when a configuration becomes active", full, needs_root=True),
)
