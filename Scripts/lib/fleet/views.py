"""Views of a configuration: of the primary, of a secondary, of its app's files, and whether they agree."""
import os
import uuid

from daemons import json_of, require, until
from host import APP, Configuration, active_file

SETTLING = 30  # seconds; an offer without an answer is repeated at a tick of 10 s (CFG-43)


def desired_of(hub, name=None):
    """The rows of what the hub wants of its secondaries; with a name, the row of that one."""
    rows = [row for row in hub.status()["desired"] if row["app"] == APP]
    return rows if name is None else next((row for row in rows if row["name"] == name), None)


def versions_of(hub):
    return [row["version"] for row in hub.control("configuration-list")["desired"] if row["app"] == APP]


def state_of(kiosk):
    """The kiosk's own row of the app; an empty one without it."""
    return next((row for row in kiosk.status()["configurations"] if row["app"] == APP), {})


def applied_disagreement(hub, kiosk, app, wanted):
    """A sentence about the first view in which a configuration is not applied and proved; None without such a view."""
    row, state, file = desired_of(hub, kiosk.name) or {}, state_of(kiosk), active_file(app.directory)
    if (row.get("version"), row.get("digest")) != (wanted.version, wanted.digest):
        return f"the hub wants {row.get('version')}"
    if row.get("verdict") != "applied" or row.get("reported") != wanted.version or "stale" in row or row["drift"]:
        return f"the hub's row is {described(row)}"
    if state.get("state") != "applied" or state.get("digest") != wanted.digest or "trial" in state:
        return f"the kiosk's row is {described(state)}"
    if file is None or file.envelope != wanted.envelope:
        return f"the file is version {file and file.version}"
    return leftovers(app)


def failed_disagreement(hub, kiosk, app, failed, old):
    """The same about a configuration that is not rolled back to the old one."""
    row, state, file = desired_of(hub, kiosk.name) or {}, state_of(kiosk), active_file(app.directory)
    if (row.get("version"), row.get("digest")) != (failed.version, failed.digest):
        return f"the hub wants {row.get('version')}"
    if row.get("verdict") != "failed" or row.get("reported") != (old and old.version):
        return f"the hub's row is {described(row)}"
    if state.get("digest") != (old and old.digest) or "trial" in state:
        return f"the kiosk's row is {described(state)}"
    if (file and file.envelope) != (old and old.envelope):
        return f"the file is version {file and file.version}"
    return leftovers(app)


def leftovers(app):
    kept = {"configuration.plist", "pairings", "attempts.plist", "keysets.plist", "schema.plist"}
    left = set(os.listdir(app.directory)) - kept
    return f"{', '.join(sorted(left))} is left" if left else None


def described(row):
    return {key: value for key, value in row.items() if not isinstance(value, bytes) and key not in ("app", "target")}


def settle(disagreement, *arguments, seconds=SETTLING):
    last = []
    def is_settled():
        last[:] = [disagreement(*arguments)]
        return last[0] is None
    try:
        until(is_settled, seconds, "agreement")
    except Exception as error:
        arguments[2].check()
        raise type(error)(f"{error}: {last[0]}") from error
    arguments[2].check()


def require_same_in_shell(hub, kiosk):
    """The shell shows the same as the sockets, and both daemons the same version."""
    shown = json_of(hub.done("status", "--json"))["desired"]
    row = next(row for row in shown if row["app"] == APP and row["name"] == kiosk.name)
    own = next(row for row in json_of(kiosk.done("status", "--json"))["configurations"] if row["app"] == APP)
    listed = json_of(hub.done("configuration", "list", "--json"))["desired"]
    require(row["reported"] == own["version"] and row["version"] in [line["version"] for line in listed],
            f"the hub shows {row}, the kiosk {own}")


def reports(hub, since, version, kiosk=None):
    """The verdicts that the hub logged for a version in its lines from `since` on, and how often it sent it; of one
    secondary, if it is named."""
    lines = [line for line in hub.lines()[since:] if f" version={version} " in f"{line} "]
    name = f" device={kiosk.name} " if kiosk else ""
    verdicts = [line.split("verdict=")[1].split()[0] for line in lines
                if " configuration reported " in line and name in line]
    pairing = f" pairing={pairing_of(hub, kiosk)} " if kiosk else ""
    return verdicts, sum(" configuration forwarded " in line and pairing in line for line in lines)


def pairing_of(hub, kiosk):
    row = next(row for row in hub.status()["pairings"] if row["name"] == kiosk.name)
    return str(uuid.UUID(bytes=row["pairing"])).upper()


def applied(hub, kiosk, app, path):
    """Applies, until all agree; the configuration."""
    wanted = Configuration(path.read_bytes())
    code, output = hub.command("apply", "--app", APP, path)
    require(code == 0, f"version {wanted.version} ended with {code}: {output.strip()}")
    settle(applied_disagreement, hub, kiosk, app, wanted)
    return wanted


def refused(hub, name, path):
    """`tandem apply` names the rejection."""
    code, output = hub.command("apply", "--app", APP, "--wait", "10s", path)
    require(code == 1 and name in output, f"{name} was expected, apply ended with {code}: {output.strip()}")
