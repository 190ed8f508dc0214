"""A line between two devices, as a process of its own: TCP on loopback with a rate, a delay, and faults.

    line.py RATE DELAY TARGET...    bytes a second (0: no limit), seconds one way, ports; each has a line of its own

The first line of its output names the ports where it listens. Each line of its input is a command, answered by one line
of JSON: `shape RATE DELAY`, `cut` (resets what is open), `plan BYTES...` (cuts each time that the target has sent so
many bytes, in ascending order), `stall` (nothing moves), `refuse` (resets what comes), `open` (neither), `count`
(connections so far, bytes that have passed, and the rest of the plan).

Each direction of a line has one rate for all of its connections. What waits for its turn waits in the sender's kernel,
behind a receive buffer of 32 KiB: so much does a router keep.
"""
import asyncio
import json
import socket
import struct
import sys

KEPT = 32 * 1024
RESET = struct.pack("ii", 1, 0)


class Way:
    """One direction of a line: when the next byte may leave."""

    def __init__(self):
        self.free = 0.0
        self.bytes = 0

    def leaves(self, count, rate, came):
        """When so many bytes have left that came at this time; None: they waited here, and the line was never idle."""
        self.bytes += count
        self.free = (self.free if came is None else max(self.free, came)) + (count / rate if rate else 0)
        return self.free


class Line:
    def __init__(self, rate, delay, target):
        self.rate, self.delay, self.target = rate, delay, target
        self.ways = (Way(), Way())
        self.pairs = {}
        self.connections = 0
        self.refuses = False
        self.plan = []
        self.moves = asyncio.Event()
        self.moves.set()

    def listen(self):
        listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, KEPT)
        listener.setblocking(False)
        self.listener = listener
        return listener.getsockname()[1]

    async def run(self):
        loop = asyncio.get_running_loop()
        while True:
            near, _ = await loop.sock_accept(self.listener)
            self.connections += 1
            if self.refuses:
                reset(near)
            else:
                near.setblocking(False)
                task = asyncio.create_task(self.serve(near))
                self.pairs[task] = [near]
                task.add_done_callback(lambda task: self.pairs.pop(task, None))

    async def serve(self, near):
        loop = asyncio.get_running_loop()
        far = socket.socket()
        self.pairs[asyncio.current_task()].append(far)
        far.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, KEPT)
        far.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        near.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        far.setblocking(False)
        try:
            await asyncio.sleep(self.delay)
            await loop.sock_connect(far, ("127.0.0.1", self.target))
            await asyncio.gather(self.carry(near, far, self.ways[0]), self.carry(far, near, self.ways[1]))
        except OSError:
            pass
        finally:
            near.close()
            far.close()

    async def carry(self, source, sink, way):
        """Takes bytes at the line's rate, also when this process is late; they arrive after its delay, in order."""
        loop = asyncio.get_running_loop()
        under_way = asyncio.Queue(4096)
        arrives = asyncio.create_task(self.arrive(sink, under_way))
        try:
            stood = True
            while not arrives.done():
                if not self.moves.is_set():
                    await self.moves.wait()
                    stood = True
                piece = 4096 if 0 < self.rate < 2_000_000 else 32_768
                try:
                    data = source.recv(piece)
                except BlockingIOError:
                    data, stood = await loop.sock_recv(source, piece), True
                leaves = way.leaves(len(data), self.rate, loop.time() if stood or not self.rate else None)
                stood = False
                if way is self.ways[1] and self.plan and way.bytes >= self.plan[0]:
                    self.plan.pop(0)
                    self.cut()
                    return
                if leaves > loop.time():
                    await asyncio.sleep(leaves - loop.time())
                await under_way.put((leaves + self.delay, data))
                if not data:
                    break
            await arrives
        finally:
            arrives.cancel()

    async def arrive(self, sink, under_way):
        loop = asyncio.get_running_loop()
        while True:
            due, data = await under_way.get()
            await self.moves.wait()
            if due > loop.time():
                await asyncio.sleep(due - loop.time())
            await self.moves.wait()
            if not data:
                sink.shutdown(socket.SHUT_WR)
                return
            await loop.sock_sendall(sink, data)

    def cut(self):
        for task, sockets in list(self.pairs.items()):
            task.cancel()
            for stream in sockets:
                reset(stream)

    def obey(self, command, *operands):
        match command:
            case "shape":
                self.rate, self.delay = float(operands[0]), float(operands[1])
            case "cut":
                self.cut()
            case "plan":
                self.plan = [int(count) for count in operands]
            case "stall":
                self.moves.clear()
            case "refuse":
                self.refuses = True
                self.cut()
            case "open":
                self.refuses = False
                self.moves.set()
        return {"connections": self.connections, "bytes": [way.bytes for way in self.ways], "plan": self.plan}


def reset(stream):
    if stream.fileno() >= 0:
        stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        stream.close()


async def main(rate, delay, targets):
    lines = [Line(float(rate), float(delay), int(target)) for target in targets]
    print(json.dumps([line.listen() for line in lines]), flush=True)
    runs = [asyncio.create_task(line.run()) for line in lines]
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while command := await reader.readline():
        print(json.dumps([line.obey(*command.decode().split()) for line in lines]), flush=True)
    for run in runs:
        run.cancel()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
