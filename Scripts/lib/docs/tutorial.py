"""Follows a tutorial page in a directory: see Scripts/tutorial.

    tutorial.py PAGE DIRECTORY
"""
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import snippets

ROOT = Path(__file__).resolve().parents[3]

STEP = re.compile(r"^<!-- (file: (?P<file>\S+)|run(?P<fails>: fails)?|(?P<word>background|expect|stop)) -->\n"
                  r"(?:```(?:swift)?\n(?P<text>.*?)^```$)?", re.M | re.S)
PATIENCE = 600  # seconds: the first `swift run` builds the libraries


class Terminal:
    """A command that goes on, and what it prints."""

    def __init__(self, command, where, environment, log):
        self.log, self.read = log, 0
        # A terminal shows each line at once; what is printed to a file waits in a buffer.
        command = "exec stdbuf -oL env " + command
        with open(log, "wb") as output:
            self.process = subprocess.Popen(
                ["bash", "-c", command], cwd=where, env=environment, stdin=subprocess.DEVNULL, stdout=output,
                stderr=subprocess.STDOUT, start_new_session=True)

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
    text = (ROOT / f"Sources/Services/PairedSession/PairedSession.docc/{page}.md").read_text()
    found, problems = snippets.regions(ROOT / "Tests/Consumer/Sources")
    if problems:
        sys.exit("\n".join(problems))
    return STEP.finditer(snippets.listed(text, found))


def follow(page, workspace):
    (workspace / "tandem").symlink_to(ROOT)
    package = workspace / "package"
    package.mkdir()
    environment = dict(os.environ, HOME=str(workspace / "home"), XDG_CONFIG_HOME=str(workspace / "home"), NO_COLOR="1")
    (workspace / "home").mkdir()
    terminals, count, variables = [], 0, workspace / "variables"
    variables.touch()
    try:
        for step in steps(page):
            text = (step["text"] or "").replace("/tmp/", f"{workspace}/")
            if step["file"]:
                file = package / step["file"]
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text)
            elif step["word"] == "background":
                print("$ " + text.strip(), flush=True)
                count += 1
                terminals.append(Terminal(text.strip(), package, environment, workspace / f"{count}.log"))
                if "simulate" in text:
                    devices = f"{workspace}/devices"
                    terminals[-1].expect([f"ready: {devices}/primary.sock and {devices}/secondary.sock"])
            elif step["word"] == "expect":
                terminals[-1].expect(text.splitlines())
                print(text, end="", flush=True)
            elif step["word"] == "stop":
                terminals.pop().stop()
            else:
                print("$ " + text.strip(), flush=True)
                script = f"set -e; . '{variables}'; trap 'declare -p hub > {variables} 2>/dev/null || true' EXIT\n{text}"
                code = subprocess.run(["bash", "-c", script], cwd=package, env=environment).returncode
                if (code != 0) != bool(step["fails"]):
                    sys.exit(f"these commands ended with {code}")
    finally:
        while terminals:
            terminals.pop().stop()


signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
follow(sys.argv[1], Path(sys.argv[2]))
print("every step has happened")
