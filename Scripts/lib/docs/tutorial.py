"""Follows a page of the documentation in a directory: see Scripts/tutorial.

    tutorial.py PAGE DIRECTORY
"""
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import snippets

ROOT = Path(__file__).resolve().parents[3]

STEP = re.compile(r"^<!-- (file: (?P<file>\S+)|run(?P<fails>: fails)?|(?P<word>background|expect|stop)|"
                  r"(?P<hidden>stop|until|shows): (?P<argument>[^\n]+)) -->\n"
                  r"(?:```(?:swift)?\n(?P<text>.*?)^```$)?", re.M | re.S)
# Commands that get a terminal of their own among others.
ENDLESS = re.compile(r"tandem (primary|secondary|receive|trace --follow)\b|tandem-console\b|SampleApp\b|until ")
PATIENCE = 600  # seconds: the first `swift run` builds the libraries


def heed_interrupts():
    """A script that runs in the background ignores Ctrl-C, and so would its terminals."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Terminal:
    """A command that goes on, and what it prints."""

    def __init__(self, command, where, environment, log):
        self.log, self.read = log, 0
        self.command = command
        # A terminal shows each line at once; what is printed to a file waits in a buffer.
        if not command.startswith("until "):
            command = "exec stdbuf -oL env " + command
        with open(log, "wb") as output:
            self.process = subprocess.Popen(
                ["bash", "-c", command], cwd=where, env=environment, stdin=subprocess.DEVNULL, stdout=output,
                stderr=subprocess.STDOUT, start_new_session=True, preexec_fn=heed_interrupts)

    def expect(self, lines):
        end = time.monotonic() + PATIENCE
        while True:
            shown = self.log.read_text(errors="replace").splitlines()
            at = self.read
            for line in lines:
                at = next((number + 1 for number in range(at, len(shown)) if shown[number] == line), None)
                if at is None:
                    break
            if at is not None:
                self.read = at
                return
            if self.process.poll() is not None or time.monotonic() > end:
                sys.exit("this was expected:\n" + "\n".join(lines) + "\nand this was shown:\n" + "\n".join(shown))
            time.sleep(0.05)

    def stop(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGINT)
            try:
                self.process.wait(timeout=30)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)


def steps(page):
    text = (ROOT / page).read_text()
    found, problems = snippets.regions(ROOT / "Tests/Consumer/Sources")
    if problems:
        sys.exit("\n".join(problems))
    return STEP.finditer(snippets.listed(text, found))


class Reader:
    """Does the steps of a page: types commands, opens terminals, and looks at what they show."""

    def __init__(self, workspace):
        self.workspace, self.package = workspace, workspace / "package"
        (workspace / "tandem").symlink_to(ROOT)
        self.package.mkdir()
        home = workspace / "home"
        home.mkdir()
        self.environment = dict(os.environ, HOME=str(home), XDG_CONFIG_HOME=str(home), NO_COLOR="1")
        self.terminals, self.opened, self.shown = [], 0, ""
        self.variables = workspace / "variables"
        self.variables.touch()
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]

    def do(self, step):
        if step["text"] is None and not step["hidden"] and step["word"] != "stop":
            sys.exit(f"no listing follows {step[0].strip()}")
        text = (step["text"] or "").replace("/tmp/", f"{self.workspace}/").replace(":4747", f":{self.port}")
        if step["file"]:
            file = self.package / step["file"]
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        elif step["hidden"] == "until":
            self.wait(step["argument"])
        elif step["hidden"] == "shows":
            if step["argument"] not in self.shown:
                sys.exit(f"this was expected: {step['argument']}")
        elif step["hidden"]:
            next(one for one in reversed(self.terminals) if one.command.startswith(step["argument"])).stop()
        elif step["word"] == "background":
            self.open(text.strip())
        elif step["word"] == "expect":
            self.terminals[-1].expect(text.splitlines())
            print(text, end="", flush=True)
        elif step["word"] == "stop":
            self.terminals.pop().stop()
        else:
            self.type(text, bool(step["fails"]))

    def open(self, command):
        print("$ " + command, flush=True)
        self.opened += 1
        terminal = Terminal(command, self.package, self.environment, self.workspace / f"{self.opened}.log")
        self.terminals.append(terminal)
        if "simulate" in command:
            devices = f"{self.workspace}/devices"
            terminal.expect([f"ready: {devices}/primary.sock and {devices}/secondary.sock"])

    def type(self, text, fails):
        """Runs the commands of a listing; the last one `fails`. One that does not end gets a terminal of its own."""
        pending = ""
        for command in re.findall(r"(?:[^\n]*\\\n)*[^\n]*\n", text):
            if ENDLESS.match(command):
                self.run(pending, False)
                self.open(command.strip())
                pending = ""
            else:
                pending += command
        self.run(pending, fails)

    def run(self, text, fails):
        if not text.strip():
            return
        print("$ " + text.strip(), flush=True)
        # README's one variable that later listings use.
        kept = f"trap 'declare -p hub > {self.variables} 2>/dev/null || true' EXIT"
        script = f"set -e; . '{self.variables}'; {kept}\n{text}"
        done = subprocess.run(["bash", "-c", script], cwd=self.package, env=self.environment, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.shown = done.stdout
        print(self.shown, end="", flush=True)
        if (done.returncode != 0) != fails:
            sys.exit(f"these commands ended with {done.returncode}")

    def wait(self, command):
        """A reader looks again until it is so."""
        end = time.monotonic() + PATIENCE / 10
        while subprocess.run(["bash", "-c", command], cwd=self.package, env=self.environment, stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode:
            if time.monotonic() > end:
                logs = "\n".join(f"{one.command}\n{one.log.read_text(errors='replace')}" for one in self.terminals)
                sys.exit(f"this did not come true: {command}\n{logs}")
            time.sleep(0.1)

    def leave(self):
        while self.terminals:
            self.terminals.pop().stop()


def follow(page, workspace):
    reader = Reader(workspace)
    try:
        for step in steps(page):
            reader.do(step)
    finally:
        reader.leave()


signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
follow(sys.argv[1], Path(sys.argv[2]))
print("every step has happened")
