"""A person at a terminal: runs a program at one of its own, types an answer after each prompt, and prints what was seen.

    typist.py PROGRAM ARGUMENT... --answers ANSWER...    each answer in hexadecimal
"""
import json
import os
import pty
import sys
import termios


def echoes(terminal):
    return bool(termios.tcgetattr(terminal)[3] & termios.ECHO)


def read(terminal):
    """What came; nothing once the program is gone."""
    try:
        return os.read(terminal, 4096)
    except OSError:
        return b""


def main(program, answers):
    child, terminal = pty.fork()
    if child == 0:
        os.execv(program[0], program)
    seen, silent = b"", []
    for answer in answers:
        start = len(seen)
        while not seen[start:].endswith(b": ") and (piece := read(terminal)):
            seen += piece
        silent.append(not echoes(terminal))
        os.write(terminal, answer)
    while piece := read(terminal):
        seen += piece
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print(json.dumps({"code": code, "text": seen.decode(), "silent": silent, "echoes": echoes(terminal)}))


if __name__ == "__main__":
    split = sys.argv.index("--answers")
    main(sys.argv[1:split], [bytes.fromhex(text) for text in sys.argv[split + 1:]])
