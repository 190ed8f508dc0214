#!/usr/bin/env python3
"""A host app in a few lines, written from Protocol/Frames.md and Protocol/Session.md alone, with Python's standard library.

    tandem_client.py --socket PATH --app ID send '{"question": 1}'
    tandem_client.py --socket PATH --app ID receive --reply '{"answer": 2}' --count 1
    tandem_client.py --socket PATH --app ID state

Prints one JSON value for each line. Exit code 0: done, 1: refused or failed, 2: usage.
"""
import argparse
import base64
import json
import sys

from frames import ProtocolError
from session import Failed, Refused, Session


def as_json(value):
    """What JSON cannot say: bytes, as the tandem command prints them."""
    if isinstance(value, bytes):
        return {"$data": base64.urlsafe_b64encode(value).decode().rstrip("=")}
    return str(value)


def show(value):
    print(json.dumps(value, default=as_json, sort_keys=True, ensure_ascii=False), flush=True)


def dictionary(text):
    try:
        value = json.loads(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"not JSON: {error}") from error
    if not isinstance(value, dict):
        raise argparse.ArgumentTypeError("not a JSON object")
    return value


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--socket", required=True, help="the daemon's local socket")
    parser.add_argument("--app", required=True, help="application identifier")
    parser.add_argument("--timeout", type=float, default=30, help="seconds for the whole command")
    commands = parser.add_subparsers(dest="command", required=True)
    send = commands.add_parser("send", help="send a message and print its reply")
    send.add_argument("message", type=dictionary)
    receive = commands.add_parser("receive", help="print messages and answer them")
    receive.add_argument("--reply", type=dictionary)
    receive.add_argument("--count", type=int, default=1)
    commands.add_parser("state", help="print what the daemon says about the situation")
    return parser.parse_args()


def run(options):
    session = Session(options.socket, options.app, options.command == "receive", options.timeout)
    match options.command:
        case "send":
            show(session.ask(options.message))
        case "receive":
            for _ in range(options.count):
                show(session.receive(options.reply))
        case "state":
            show(session.registration | session.situation)
    session.close()


def main():
    options = arguments()
    try:
        run(options)
    except (Refused, Failed, ProtocolError, OSError) as error:
        print(f"tandem_client: {error or type(error).__name__}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
