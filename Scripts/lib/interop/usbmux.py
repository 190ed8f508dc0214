"""A usbmuxd without USB: what the clients of iOS devices dial, in front of the simulator's local sockets.

    usbmux.py AT SOCKET...    listens at AT (a path); port 1 of its one device is the first SOCKET, port 2 the second

Only what they ask: the list of devices, and the connection to a port, which from then on is a pipe. It has no pair
records and speaks no TLS: Tandem's local sockets know who speaks from the kernel.
"""
import asyncio
import plistlib
import struct
import sys

HEADER = struct.Struct("<4I")  # length with the header, version, type, tag
PLIST_VERSION, PLIST_TYPE, LARGEST = 1, 8, 65_536
DONE, BAD_COMMAND, NO_SUCH_PORT = 0, 1, 3
DEVICE = {
    "DeviceID": 1, "MessageType": "Attached",
    "Properties": {
        "ConnectionType": "USB", "DeviceID": 1, "LocationID": 1, "ProductID": 0x12A8, "SerialNumber": "7a" * 20},
}


def result(number):
    return {"MessageType": "Result", "Number": number}


async def read_request(reader):
    length, _, _, tag = HEADER.unpack(await reader.readexactly(HEADER.size))
    if not HEADER.size < length <= LARGEST:
        raise ValueError(f"a packet of {length} bytes")
    return tag, plistlib.loads(await reader.readexactly(length - HEADER.size))


async def answer(writer, tag, content):
    payload = plistlib.dumps(content)
    writer.write(HEADER.pack(HEADER.size + len(payload), PLIST_VERSION, PLIST_TYPE, tag) + payload)
    await writer.drain()


async def pump(reader, writer):
    while piece := await reader.read(LARGEST):
        writer.write(piece)
        await writer.drain()
    writer.write_eof()


async def serve(reader, writer, sockets):
    far = None
    while far is None:
        tag, request = await read_request(reader)
        match request.get("MessageType"):
            case "ListDevices":
                await answer(writer, tag, {"DeviceList": [DEVICE]})
            case "ReadBUID":
                await answer(writer, tag, {"BUID": "00000000-0000-0000-0000-000000000001"})
            case "Connect":
                port = int.from_bytes(request["PortNumber"].to_bytes(2, "little"), "big")  # in network order
                if 1 <= port <= len(sockets):
                    far = await asyncio.open_unix_connection(sockets[port - 1])
                await answer(writer, tag, result(NO_SUCH_PORT if far is None else DONE))
            case _:
                await answer(writer, tag, result(BAD_COMMAND))
    try:
        await asyncio.gather(pump(reader, far[1]), pump(far[0], writer))
    finally:
        far[1].close()


async def main(at, *sockets):
    async def connected(reader, writer):
        try:
            await serve(reader, writer, sockets)
        except (OSError, EOFError, ValueError):  # that client is gone, or none of ours
            pass
        finally:
            writer.close()

    async with await asyncio.start_unix_server(connected, at) as server:
        await server.serve_forever()


asyncio.run(main(*sys.argv[1:]))
