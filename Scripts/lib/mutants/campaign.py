"""Runs the conformance suite against mutants of a daemon, and first against the daemon behind the same proxy.

    campaign.py TANDEM SEED [--short] [--case TEXT]

The environment's SUITE is the executable of the tests. Scripts/mutants starts it.
"""
import pathlib
import sys
import types

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "campaign"))

# Before the others: it says where the modules of the system tests are.
import play  # noqa: E402
import suite  # noqa: E402
import table  # noqa: E402
from case import Case  # noqa: E402
from daemons import require  # noqa: E402
from mutant import PRIMARY, SECONDARY, Faithful  # noqa: E402

FAITHFUL = {PRIMARY: Faithful.__name__, SECONDARY: Faithful.__name__}


class Judgement:
    """Runs of the suite with one seed, and how many mutants they have caught."""

    def __init__(self, seed):
        self.seed, self.caught, self.played = seed, 0, 0

    def faithful(self, world):
        failed, count = suite.run(world, self.seed, "SES-9: " if world.short else "", FAITHFUL)
        require(not failed, f"the faithful daemon fails {'; '.join(failed)}")
        return f"{count} cases hold"

    def case(self, mutant):
        def judged(world):
            self.played += 1
            failed, count = suite.run(world, self.seed, mutant.judges, FAITHFUL | {mutant.side: mutant.__name__})
            require(failed, f"not caught: each of {count} cases with '{mutant.judges}' holds")
            self.caught += 1
            return f"caught by {'; '.join(failed)}"
        return Case(mutant.__name__, mutant.text(), judged, mutant.is_short)

    @property
    def cases(self):
        return [Case(Faithful.__name__, "changes nothing", self.faithful), *map(self.case, table.ALL)]


judgement = Judgement(sys.argv[2])
code = play.run([types.SimpleNamespace(CASES=judgement.cases)], "mutant", sys.argv[1:])
print(f"{judgement.caught} of {judgement.played} mutants caught")
sys.exit(code)
