"""All mutants, by their subjects."""
import configuration
import contexts
import files
import items
import later
import lengths
import messages
import pairings
import sessions
from mutant import Mutant

SUBJECTS = (messages, sessions, lengths, items, later, contexts, files, pairings, configuration)


def mutants_of(subject):
    """The mutants of a module, as they stand there. A class that names no clause or no cases is a form of others."""
    for each in vars(subject).values():
        if isinstance(each, type) and issubclass(each, Mutant) and each.__module__ == subject.__name__:
            if each.clause and each.judges:
                yield each
            elif not each.__subclasses__():
                raise TypeError(f"the mutant {each.__name__} names no clause, or no cases that judge it")


ALL = tuple(mutant for subject in SUBJECTS for mutant in mutants_of(subject))
