"""All mutants, by their subjects."""
import contexts
import files
import items
import messages
import sessions

ALL = tuple(mutant for subject in (messages, sessions, items, contexts, files) for mutant in subject.MUTANTS)
