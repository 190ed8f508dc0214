"""Inputs that a fuzzer found: each once made a reader here crash, hang, or say one thing here and another there."""
from .raw import Cases


def made():
    return Cases("Inputs found by fuzzing (FRM-6): each was once answered wrongly here.").compared()
