"""Kills while keys change: at random points of bringing rotations and revocations to a secondary (CFG-84, CFG-92 to
CFG-95). A daemon never knows less than it has said, and its chain is whole: a piece from the beginning of what the
operator made. Afterwards both daemons and the app's directory have all of it, and the next configuration applies.
"""
import collections
import plistlib
import time
from typing import NamedTuple

from case import Case
from daemons import require, until
from host import APP, HostApp, Signer, active_file, made
from recovery import Stopwatch, agreed
from scene import Pair, Point, at_points
from views import settle

POINTS, FEW = 100, 6
COURSE = 0.15  # seconds of a whole change on a quiet machine
ROTATE, REVOKE, WITHDRAW = "rotate", "revoke", "revoke and withdraw"


class Known(NamedTuple):
    """A daemon's account of its chain."""
    version: int
    revoked: int


def known(daemon):
    row = next((row for row in daemon.control("trust-list")["anchors"] if row["app"] == APP), None)
    return Known(row["version"], row["revoked"]) if row else Known(0, 0)


class Keys(Signer):
    """The keys of one app, the statements that its operator has made, and configurations under the last set."""

    def __init__(self, world, hub):
        super().__init__(world, hub)
        self.chain, self.number = [], 0
        for name in ("root", "revoker"):
            made(world, "keys", "new", "--out", self.file(name))
        first = self.file("s1")
        made(world, "keyset", "init", "--app", APP, "--role", "secondary", "--root", self.public("root"), "--config",
             self.public("signing"), "--revoker", self.public("revoker"), "--key", self.file("root"), "--out", first)
        self.chain.append(first)
        self.set, self.current, self.gone = first, "signing", set()
        self.version = 1
        self.anchor = made(world, "keyset", "export", first).encode()
        hub.done("trust", "add", "--app", APP, "--role", "secondary", "--key", first)

    def file(self, name):
        return self.world.workspace / name

    def public(self, name):
        return self.world.workspace / f"{name}.pub"

    @property
    def history(self):
        return [option for path in self.chain for option in ("--from", path)]

    @property
    def state(self):
        return Known(self.version, len(self.gone))

    def change(self, how):
        """The file of the next statement; a revoked key is replaced before anything else."""
        self.number += 1
        path = self.file(f"statement-{self.number}")
        if how == ROTATE:
            key = f"signing-{self.number}"
            made(self.world, "keys", "new", "--out", self.file(key))
            made(self.world, "keyset", "rotate", *self.history, "--config", self.public(key), "--key",
                 self.file("root"), "--out", path)
            self.set, self.current, self.version = path, key, self.version + 1
        else:
            made(self.world, "keyset", "revoke", *self.history, "--revoke", self.public(self.current),
                 *(["--withdraw"] if how == WITHDRAW else []), "--key", self.file("revoker"), "--out", path)
            self.gone.add(self.current)
        self.chain.append(path)
        return path

    @property
    def can_sign(self):
        return self.current not in self.gone

    def sign(self, version, mood="good", *options):
        self.key = self.file(self.current)
        return super().sign(version, mood, "--keyset", self.set, *options)


def written(app):
    """The chain in the app's directory; a half-written file does not read."""
    with open(f"{app.directory}/keysets.plist", "rb") as file:
        return plistlib.load(file)["chain"]


def require_whole(app, keys):
    """The chain in the app's directory is a piece from the beginning of what the operator made."""
    made_so_far, chain = [path.read_bytes() for path in keys.chain], written(app)
    require(chain == made_so_far[:len(chain)], f"{len(chain)} statements in the app's directory are no chain")


def disagreement(hub, kiosk, app, keys):
    """A sentence about the first place without the whole chain; None if all places have it."""
    for daemon in (hub, kiosk):
        if known(daemon) != keys.state:
            return f"{daemon.name} knows {known(daemon)}, not {keys.state}"
    made_so_far = [path.read_bytes() for path in keys.chain]
    if written(app) != made_so_far:
        return f"{len(written(app))} of {len(made_so_far)} statements are in the app's directory"
    return None


def drawn(random, scene):
    course = random.choices((ROTATE, REVOKE, WITHDRAW), (2, 1, 1))[0] if scene.signer.can_sign else ROTATE
    victims = random.choices((("kiosk",), ("hub",), ("kiosk", "hub")), (3, 2, 1))[0]
    return Point(course, victims, "apply", random.uniform(0, COURSE))


def play_point(scene, point):
    """The time from the restart to agreement."""
    victims = [scene.daemon(name) for name in point.victims]
    before = {daemon.name: known(daemon) for daemon in scene.daemons}
    path = scene.signer.change(point.course)
    shell = scene.apply(path)
    time.sleep(point.delay)
    scene.kill(*point.victims)
    require_whole(scene.app, scene.signer)
    watch = Stopwatch()
    scene.start(*point.victims)
    for daemon in victims:
        require_no_less(daemon, before)
    if "hub" in point.victims:
        shell = scene.again(shell, path, lambda: known(scene.hub) == scene.signer.state)
    settle(disagreement, scene.hub, scene.kiosk, scene.app, scene.signer)
    recovery = watch.read()
    shell.end()
    code, output = scene.hub.command("apply", "--app", APP, path)
    require(code == 0, f"the same statement again ended with {code}: {output.strip()}")
    if point.course == WITHDRAW:
        until(lambda: active_file(scene.app.directory) is None, 10, "the end of what the key had signed")
    if scene.signer.can_sign:
        scene.goes_on()
    return recovery


def require_no_less(daemon, before):
    now, least = known(daemon), before[daemon.name]
    require(now >= least, f"{daemon.name} had said {least}, and knows {now} after the kill")


def at_random_points(world):
    scene = Pair(world, Keys, HostApp)
    scene.goes_on()
    played = at_points(world, POINTS, FEW, lambda random: drawn(random, scene), lambda point: play_point(scene, point))
    scene.app.stop()
    changes = collections.Counter(point.course for point, _ in played)
    return (f"{len(played)} kills: {changes[ROTATE]} rotating, {changes[REVOKE]} revoking, {changes[WITHDRAW]} "
            f"withdrawing; the chain has {len(scene.signer.chain)} statements; agreed after "
            f"{agreed([recovery for _, recovery in played])}")


CASES = (
    Case("1d", "killed while keys are rotated or revoked", at_random_points),
)
