"""Plays signed configuration with real daemons: kills, a fleet, lost stores, wrong clocks and a full disk.

    campaign.py TANDEM SEED [--short] [--case TEXT]

The environment's FLEET_KILLS says at how many points a case kills that draws them. Scripts/fleet starts it.
"""
import os
import pathlib
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "campaign"))

# Before the others: it says where the modules of the system tests are.
import play  # noqa: E402
import clocks  # noqa: E402
import disks  # noqa: E402
import host  # noqa: E402
import keychains  # noqa: E402
import kills  # noqa: E402
import many  # noqa: E402
import rollouts  # noqa: E402
import samples  # noqa: E402
import stores  # noqa: E402

code = play.run((kills, keychains, rollouts, samples, many, stores, clocks, disks), "fleet", sys.argv[1:])
if code == 0 and "FLEET_KILLS" in os.environ and not host.asked:
    print("--kills changed nothing: no case that was played draws its kills", file=sys.stderr)
    code = 2
sys.exit(code)
