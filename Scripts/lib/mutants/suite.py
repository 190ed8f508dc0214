"""The conformance suite as the judge of a daemon: one run in the world of processes."""
import os
import pathlib
import signal
import subprocess
import sys
import xml.etree.ElementTree

from daemons import CaseFailure, Program, require

PROXY = pathlib.Path(__file__).with_name("proxy.py")
WORLD = "processes"
PATIENCE = 10  # seconds for each wait of a case, after the pauses that the protocol allows
LONGEST = 300  # seconds
SHOWN = 80  # characters


def command(tandem, role, name):
    """The line of the shell that starts a mutant."""
    return f"'{sys.executable}' -B '{PROXY}' {name} '{tandem}' {role}"


def run(world, seed, judges, names):
    """Runs the cases whose description contains the text, with a mutant by its name for each role: those that have
    failed, each with what it saw, and how many there were."""
    report, log = world.workspace / "report.xml", world.workspace / "suite.log"
    variables = {"RUNS": "1", "SEED": seed, "CASE": judges, "WORLD": WORLD, "PATIENCE": PATIENCE, "JUNIT": report}
    variables |= {role.upper(): command(world.tandem, role, name) for role, name in names.items()}
    environment = os.environ | {f"TANDEM_CONFORMANCE_{name}": str(value) for name, value in variables.items() if value}
    # More repetitions of a case say nothing more about a mutant.
    environment.pop("TANDEM_LONG_TESTS", None)
    filters = ["--testing-library", "swift-testing", "--filter", r"^SystemTests\.SocketConformanceTests"]
    program = world.starts(Program([os.environ["SUITE"], *filters], log, env=environment))
    try:
        program.process.wait(LONGEST)
    except subprocess.TimeoutExpired as error:
        program.end(signal.SIGKILL)
        raise CaseFailure(f"the run did not end within {LONGEST} s") from error
    text = report.read_text() if report.exists() else ""
    suites = xml.etree.ElementTree.fromstring(f"<testsuites>{text}</testsuites>").findall("testsuite")
    cases = [case for suite in suites if suite.get("name") == WORLD for case in suite]
    require(cases, f"the run has reported no case that contains '{judges}'")
    accounts = {case.get("name"): case.findtext("failure") for case in cases if case.find("failure") is not None}
    require(accounts or program.process.returncode == 0, "the run failed, and no case did")
    for account in accounts.values():
        require("Traceback" not in account, f"the mutant itself has failed:\n{account}")
    return [f"{name} ({seen(account, seed)})" for name, account in accounts.items()], len(cases)


def seen(account, seed):
    """The first line of the account, without the case's name."""
    text = account.splitlines()[0].split(f", seed {seed}: ")[-1]
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."
