"""Host apps that take configurations (Protocol/SignedConfiguration.md, CFG-36 to CFG-43). They start again when they
crash or lose their daemon, and a configuration's value `mood` says how they take it.
"""
import contextlib
import hashlib
import os
import plistlib
import threading
import time
import uuid

from apps import App, Refused
from daemons import require, until
from frames import ProtocolError, decode, encode

APP = "org.example.fleet"
# How an app takes a configuration: it answers GOOD with `applied`; CRASH kills it when it is offered; it answers DIES
# with `applied`, dies, and dies at each later start; SILENT is never answered. Another mood is the name of a rejection.
GOOD, CRASH, DIES, SILENT = "good", "crash", "dies", "silent"
WIDTH = 16  # values that repeat the version, so that a mixture would show
RESTART = 0.005  # seconds


class Configuration:
    """A configuration's envelope, read without verifying it."""

    def __init__(self, envelope):
        self.envelope = envelope
        self.digest = hashlib.sha256(envelope).digest()
        payload = plistlib.loads(plistlib.loads(envelope)["payload"])
        self.version, self.issued, self.values = payload["ver"], payload["iat"], payload["values"]

    @property
    def mood(self):
        return self.values["mood"]

    @property
    def is_whole(self):
        if "colour" in self.values:
            return self.values["colour"] == f"#{self.version:06x}"
        return all(self.values[f"n{number}"] == self.version for number in range(WIDTH))


class Signer:
    """One signing key, and configurations for the fleet of one hub."""

    def __init__(self, world, hub, name="signing"):
        self.world, self.key, self.made = world, world.workspace / name, 0
        self.target = f"vendor:{device_of(hub)}"
        made(world, "keys", "new", "--out", self.key)
        self.anchor = self.key.with_suffix(".pub").read_bytes()

    def sign(self, version, mood=GOOD, *options):
        """The file of a new configuration."""
        self.made += 1
        path = self.world.workspace / f"v{version}-{self.made}.config"
        values = [item for name, value in self.values(version, mood).items() for item in ("--set", f"{name}={value}")]
        made(self.world, "sign", "--key", self.key, "--app", APP, "--role", "secondary", "--target", self.target,
             "--version", version, *values, "--out", path, *options)
        return path

    def values(self, version, mood):
        return {"mood": mood} | {f"n{number}": version for number in range(WIDTH)}


asked = []  # what `points` has answered so far


def points(world, usual, few):
    """At how many points a case kills: as many as were asked for, else as the campaign's form says."""
    asked.append(int(os.environ.get("FLEET_KILLS", 0)) or (few if world.short else usual))
    return asked[-1]


def made(world, *arguments):
    code, output = world.command(*arguments)
    require(code == 0, f"tandem {arguments[0]} ended with {code}: {output.strip()}")
    return output


def device_of(daemon):
    return str(uuid.UUID(bytes=daemon.status()["device"])).upper()


def active_file(directory):
    """The configuration that an app would start with; None without one. A half-written file does not read."""
    with contextlib.suppress(FileNotFoundError):
        with open(f"{directory}/configuration.plist", "rb") as file:
            facts = plistlib.load(file)
        active = Configuration(facts["envelope"])
        require(active.digest == facts["digest"] and active.version == facts["version"] and active.is_whole,
                f"configuration.plist of version {active.version} is a mixture")
        return active
    return None


class HostApp(threading.Thread):
    """The receiving app of one daemon.

    `bows` makes it end its session in order after each good configuration, which proves it to be good (CFG-61).
    `heard` is called with "offer" or "answer" as it happens. `ahead` is how many seconds its device's clock is ahead:
    like the library it judges nothing before the time of what is active (CFG-33).
    """

    def __init__(self, daemon, anchor, bows=True, overrides=None, app=APP):
        super().__init__(daemon=True)
        self.daemon_of, self.anchor, self.bows, self.app = daemon, anchor, bows, app
        self.overrides = overrides or {}
        self.heard = lambda event: None
        self.directory = self.failure = None
        self.starts = self.ahead = 0
        self.ends = self.registered = False
        self.start()

    def run(self):
        while not self.ends:
            try:
                self.live()
            except (OSError, Refused, ProtocolError):
                pass  # the daemon is gone, or has not noticed yet that the connection before this one is
            except Exception as error:  # a thread's failure has to reach the case
                self.failure = self.failure or f"{type(error).__name__}: {error}"
            self.registered = False
            time.sleep(RESTART)

    def live(self):
        connection = App(self.daemon_of, self.app, receives=True, anchor=self.anchor)
        try:
            self.directory = connection.registration["directory"]
            active = active_file(self.directory)
            self.starts += 1
            self.registered = True
            if active and self.mood_of(active) == DIES:
                return
            if self.bows and active and os.path.exists(f"{self.directory}/trial.plist"):
                # The daemon was killed before it had seen the last orderly end.
                connection.send(kind="bye")
                return
            lives = True
            while lives and not self.ends:
                with contextlib.suppress(TimeoutError):
                    lives = self.take(connection, connection.read(0.2))
        finally:
            connection.close()

    def mood_of(self, configuration):
        return self.overrides.get(configuration.mood, configuration.mood)

    def take(self, connection, envelope):
        """Whether the app lives on."""
        if envelope["kind"] != "configuration":
            return True
        body = decode(envelope["body"])
        def answer(verdict, **facts):
            connection.send(kind="reply", app=self.app, pairing=envelope.get("pairing"), id=envelope["id"],
                            body=encode({"tandem.verdict": verdict, **facts}))
        if body.get("tandem.reload"):
            active_file(self.directory)
            answer("applied")
            return True
        offered = Configuration(body["tandem.configuration"])
        require(offered.is_whole, f"version {offered.version} was offered as a mixture")
        mood = self.mood_of(offered)
        active = active_file(self.directory)
        if active and time.time() + self.ahead < active.issued:
            mood = "clock-unset"
        self.heard("offer")
        if mood in (CRASH, SILENT):
            return mood == SILENT
        facts = {"tandem.digest": offered.digest, "tandem.version": offered.version}
        answer("applied" if mood in (GOOD, DIES) else mood, **facts)
        self.heard("answer")
        if mood == GOOD and self.bows:
            connection.send(kind="bye")
        return mood != DIES and not (mood == GOOD and self.bows)

    def check(self):
        require(self.failure is None, f"the app of {self.daemon_of.name}: {self.failure}")

    def until_registered(self):
        until(lambda: self.registered or self.failure, 20, f"the registration of {self.daemon_of.name}'s app")
        self.check()
        return self

    def stop(self):
        self.ends = True
        self.join(10)
        self.check()
