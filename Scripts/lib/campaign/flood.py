"""Strangers, as a process of its own: so many empty connections a second to a port of loopback.

    flood.py PORT RATE SOURCES    from so many addresses, until its input ends

Then it prints how many it has opened and how many seconds it took. Each stays open until the daemon closes it, so that
the daemon's places stay full.
"""
import os
import select
import socket
import sys
import time

CHECKED_FOR_INPUT = 64


def opened(port, source):
    stream = socket.socket()
    stream.setblocking(False)
    try:
        stream.bind((f"127.0.0.{source}", 0))
        stream.connect(("127.0.0.1", port))
    except BlockingIOError:
        pass
    except OSError:
        stream.close()
        return None
    return stream


def main(port, rate, sources):
    began = time.monotonic()
    count, alive = 0, {}
    poll = select.epoll()
    poll.register(0, select.EPOLLIN)
    while True:
        due = int((time.monotonic() - began) * rate)
        while count < due:
            count += 1
            if stream := opened(port, 1 + count % sources):
                alive[stream.fileno()] = stream
                poll.register(stream, select.EPOLLRDHUP)
        for descriptor, events in poll.poll(0.001):
            if descriptor == 0:
                if not os.read(0, CHECKED_FOR_INPUT):
                    print(count, time.monotonic() - began, flush=True)
                    return
            elif events & (select.EPOLLRDHUP | select.EPOLLHUP | select.EPOLLERR):
                poll.unregister(descriptor)
                alive.pop(descriptor).close()


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]))
