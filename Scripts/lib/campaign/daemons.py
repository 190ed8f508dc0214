"""Daemons of a campaign: processes of the shipped command, their pairs, the lines between them, and their memory."""
import contextlib
import json
import multiprocessing
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import time
import uuid

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parents[2] / "Tests/SystemTests/python_client"))
from frames import decode, encode, frame, read_envelope  # noqa: E402

GROUP = "nogroup"
READY = 20


class CaseFailure(Exception):
    """A failure of a case: the state that it saw, and the one that it should have seen."""


def require(condition, text):
    if not condition:
        raise CaseFailure(text)


def json_of(output):
    """The object that a command with --json printed, a line of its output. Lines of standard error may stand beside it."""
    line = next((line for line in output.splitlines() if line.startswith("{")), None)
    require(line, f"a command with --json printed no object: {output.strip()}")
    return json.loads(line)


def until(condition, seconds, text):
    """The first true value of the condition, asked until the time is over."""
    deadline = time.monotonic() + seconds
    pause = 0.005
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise CaseFailure(f"{text} did not happen within {seconds} s")
        time.sleep(pause)
        pause = min(pause * 1.5, 0.1)
    return value


class Program:
    """A process that the campaign started; only such are ever ended."""

    def __init__(self, arguments, log=None, **options):
        self.log = log
        output = open(log, "ab") if log else subprocess.PIPE
        self.process = subprocess.Popen(
            [str(argument) for argument in arguments], stdin=subprocess.PIPE, stdout=output,
            stderr=subprocess.STDOUT if log else None, **options)
        if log:
            output.close()

    @property
    def pid(self):
        return self.process.pid

    @property
    def runs(self):
        return self.process.poll() is None

    def end(self, with_signal=signal.SIGTERM, seconds=15):
        """Returns once the process is gone; one that does not go is killed."""
        if self.runs:
            self.process.send_signal(with_signal)
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            if stream:
                # Closing writes the rest of the input, which the process no longer reads.
                with contextlib.suppress(OSError):
                    stream.close()


class Line(Program):
    """line.py with the ports of one or more lines."""

    def __init__(self, rate, delay, *targets):
        super().__init__([sys.executable, HERE / "line.py", rate, delay, *targets])
        self.ports = json.loads(self.process.stdout.readline())

    def tell(self, command):
        self.process.stdin.write(f"{command}\n".encode())
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


class Flood(Program):
    """flood.py, until `stop` says how many connections a second it made."""

    def __init__(self, port, rate, sources):
        super().__init__([sys.executable, HERE / "flood.py", port, rate, sources])

    def stop(self):
        self.process.stdin.close()
        count, seconds = self.process.stdout.readline().split()
        self.process.wait()
        self.process.stdin = None
        self.end()
        return int(count) / float(seconds)


class Beside:
    """Work that goes on in a process of its own, so that it takes no turns from what a case measures."""

    def __init__(self, work, *arguments):
        self.process = multiprocessing.get_context("fork").Process(target=work, args=arguments, daemon=True)
        self.process.start()

    def end(self, _=None):
        if self.process.is_alive():
            self.process.kill()
        self.process.join()


def control(path, command, **body):
    """The answer of the daemon with this socket to a control request (Protocol/Control.md)."""
    name = pathlib.Path(path).stem
    with socket.socket(socket.AF_UNIX) as stream:
        stream.settimeout(30)
        stream.connect(path)
        hello = {"minimum": 1, "maximum": 1, "capabilities": [], "software": "hostile 1"}
        stream.sendall(frame(kind="hello", body=encode(hello)))
        stream.sendall(frame(kind="control", id=uuid.uuid4().bytes, command=command, body=encode(body)))
        while (result := read_envelope(stream))["kind"] != "result":
            require(result["kind"] != "refusal", f"{name} refused a request: {result.get('name')}")
    require(result["code"] == 0, f"{command} on {name} ended as {result.get('name')}")
    return decode(result["body"]) if "body" in result else {}


class Daemon:
    """One daemon with its state directory, which outlives its processes. A wrapper is a command that becomes it."""

    def __init__(self, world, name, role, *options):
        self.world, self.name, self.role, self.options = world, name, role, options
        self.state = world.workspace / name
        self.socket = str(world.workspace / f"{name}.sock")
        self.log = world.workspace / f"{name}.log"
        self.program, self.wrapper = None, ()

    def start(self):
        seen = len(self.lines())
        shared = ("--local-group", GROUP) if self.world.is_root else ()
        self.program = self.world.starts(Program(
            [*self.wrapper, self.world.tandem, self.role, "--state", self.state, "--local", self.socket, "--name",
             self.name, *shared, *self.options], self.log))
        until(lambda: any(line.startswith("ready:") for line in self.lines()[seen:]), READY, f"{self.name} ready")
        ready = next(line for line in reversed(self.lines()) if line.startswith("ready:"))
        self.ports = [int(port) for port in re.findall(r"127\.0\.0\.1:(\d+)", ready)]
        return self

    def keep_port(self, *options):
        """From its next start on it listens where it does now."""
        self.options = (*options, "--listen", f"127.0.0.1:{self.ports[0]}")

    def stop(self, with_signal=signal.SIGTERM):
        self.program.end(with_signal)

    @property
    def runs(self):
        return self.program.runs

    def lines(self):
        return self.log.read_text(errors="replace").splitlines() if self.log.exists() else []

    def command(self, *arguments, text=None, seconds=30):
        """The answer of `tandem` for this daemon: exit code and its output, errors included."""
        return self.world.command(*arguments, "--device", self.socket, text=text, seconds=seconds)

    def done(self, *arguments, text=None, seconds=30):
        """The output of a command that must succeed."""
        code, output = self.command(*arguments, text=text, seconds=seconds)
        require(code == 0, f"tandem {arguments[0]} on {self.name} ended with {code}: {output.strip()}")
        return output

    def control(self, command, **body):
        """The answer to a control request, asked without starting `tandem`."""
        return control(self.socket, command, **body)

    def status(self):
        return self.control("status")

    def linked(self):
        return sum(pairing["level"] == "linked" for pairing in self.status()["pairings"])

    def memory(self, name="VmRSS", file="status"):
        """In KiB, from the kernel; LookupError if it has no such figure, as of a process that has just ended."""
        text = pathlib.Path(f"/proc/{self.program.pid}/{file}").read_text()
        if not (found := re.search(rf"^{name}:\s+(\d+)", text, re.M)):
            raise LookupError(f"no {name} of {self.name}")
        return int(found[1])

    def peak(self):
        return self.memory("VmHWM")

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.program.pid}/fd"))

    def links_ready(self):
        return sum(" link ready " in line for line in self.lines())


class World:
    """The surroundings of one case: daemons, lines and floods, all of which end with it."""

    def __init__(self, tandem, workspace, random, short):
        self.tandem, self.workspace, self.random, self.short = tandem, workspace, random, short
        self.is_root = can_be_others()
        self.programs = []
        self.began = time.monotonic()
        workspace.mkdir(mode=0o711)

    def starts(self, program):
        self.programs.append(program)
        return program

    def end(self):
        for program in reversed(self.programs):
            program.end(signal.SIGKILL)

    def command(self, *arguments, text=None, seconds=30):
        try:
            done = subprocess.run(
                [self.tandem, *map(str, arguments)], input=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                text=True, timeout=seconds, stdin=None if text is not None else subprocess.DEVNULL)
        except subprocess.TimeoutExpired as error:
            raise CaseFailure(f"tandem {arguments[0]} did not end within {seconds} s") from error
        return done.returncode, done.stdout

    def hub(self, *options):
        return Daemon(self, "hub", "primary", "--listen", "127.0.0.1:0", *options).start()

    def kiosk(self, name="kiosk"):
        return Daemon(self, name, "secondary").start()

    def simulator(self, secondaries):
        """The primary of a simulator, and its secondaries: one process with many sockets."""
        at, log = self.workspace / "at", self.workspace / "simulator.log"
        program = self.starts(
            Program([self.tandem, "simulate", "--local", at, "--secondaries", secondaries, "--log", "warning"], log))
        names = ["primary", "secondary", *(f"secondary-{number}" for number in range(2, secondaries + 1))]
        devices = [Daemon(self, name, "simulated") for name in names[:secondaries + 1]]
        for device in devices:
            device.program, device.socket, device.log = program, str(at / f"{device.name}.sock"), log
        until(lambda: os.path.exists(devices[-1].socket), READY, "the simulator's last socket")
        return devices

    def line(self, rate, delay, *targets):
        return self.starts(Line(rate, delay, *targets))

    def flood(self, port, rate, sources=1):
        return self.starts(Flood(port, rate, sources))

    def beside(self, work, *arguments):
        return self.starts(Beside(work, *arguments))

    def pair(self, rate=0, delay=0.0, line=False):
        """A hub and a kiosk that are linked, through a line of their own if one is asked for."""
        hub, kiosk = self.hub(), self.kiosk()
        between = self.line(rate, delay, hub.ports[0]) if line or rate or delay else None
        join(kiosk, link_of(hub, between.ports[0] if between else None))
        until(lambda: hub.linked() == 1 and kiosk.linked() == 1, READY, "the first link")
        return hub, kiosk, between


def link_of(hub, port=None):
    """A join link of the hub; with a port, to a line in front of it."""
    link = hub.done("pair", "--link-only").strip()
    return re.sub(r"at=[^&]*", f"at=127.0.0.1:{port}", link) if port else link


def join(kiosk, link, *options):
    return kiosk.done("join", *options, text=link)


def can_be_others():
    """Whether this process may take other users' identities: with root's, unless it has lost the right to."""
    if os.geteuid() != 0:
        return False
    try:
        os.seteuid(65_000)
        os.seteuid(0)
        return True
    except OSError:
        return False
