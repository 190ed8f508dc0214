"""All mutants, by their subjects."""
import contexts
import files
import items
import lengths
import messages
import sessions

SUBJECTS = (messages, sessions, lengths, items, contexts, files)
ALL = tuple(mutant for subject in SUBJECTS for mutant in subject.MUTANTS)
