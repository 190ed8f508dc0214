"""All mutants, by their subjects."""
import contexts
import files
import items
import later
import lengths
import messages
import pairings
import sessions

SUBJECTS = (messages, sessions, lengths, items, later, contexts, files, pairings)
ALL = tuple(mutant for subject in SUBJECTS for mutant in subject.MUTANTS)
