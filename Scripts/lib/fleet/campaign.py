"""Plays signed configuration with real daemons: kills, a fleet, lost stores, wrong clocks and a full disk.

    campaign.py TANDEM SEED [--short] [--case TEXT] [--kills N]

Scripts/fleet starts it.
"""
import pathlib
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "campaign"))

# Before the others: it says where the modules of the system tests are.
import play  # noqa: E402
import clocks  # noqa: E402
import disks  # noqa: E402
import keychains  # noqa: E402
import kills  # noqa: E402
import many  # noqa: E402
import rollouts  # noqa: E402
import samples  # noqa: E402
import stores  # noqa: E402

sys.exit(play.run((kills, keychains, rollouts, samples, many, stores, clocks, disks), "fleet", sys.argv[1:]))
