"""Property lists put together by hand, right or wrong in any place, and the cases made of them."""
from . import differences, values


class Sequence:
    """Numbers of one width that follow each other: the table of thousands of small objects, told in one line."""

    def __init__(self, first, step, times, size):
        self.first, self.step, self.times, self.size = first, step, times, size

    def bytes(self):
        return b"".join((self.first + self.step * i).to_bytes(self.size, "big") for i in range(self.times))

    def piece(self):
        return {"from": self.first, "step": self.step, "times": self.times, "size": self.size}


class Run:
    """The same bytes many times."""

    def __init__(self, data, times):
        self.data, self.times = data, times

    def bytes(self):
        return self.data * self.times

    def piece(self):
        return {"hex": self.data.hex(), "times": self.times}


def piece_of(told):
    """The piece that a vector file tells."""
    if "hex" in told:
        return Run(bytes.fromhex(told["hex"]), told["times"])
    return Sequence(told["from"], told["step"], told["times"], told["size"])


def flat(pieces):
    return b"".join(piece if isinstance(piece, bytes) else piece.bytes() for piece in pieces)


def big(number, size):
    """A big-endian number; what does not fit is cut off, as a wrong size would cut it."""
    return (number & (1 << 8 * size) - 1).to_bytes(size, "big") if size else b""


def trailer(offset_size, reference_size, count, top, table, unused=bytes(6)):
    return unused + bytes([offset_size, reference_size]) + big(count, 8) + big(top, 8) + big(table, 8)


def plist(*objects, magic=b"bplist00", offset_size=1, reference_size=1, count=None, top=0, table=None, offsets=None,
          before_table=b"", after_table=b"", unused=bytes(6), pieces_of_offsets=None):
    """The pieces of a property list of these objects; each part can be replaced by a wrong one."""
    pieces, places, length = [magic], [], len(magic)
    for one in objects:
        places.append(length)
        parts = one if isinstance(one, list) else [one]
        pieces += parts
        length += len(flat(parts))
    pieces.append(before_table)
    start = length + len(before_table)
    if pieces_of_offsets is None:
        pieces += [big(place, offset_size) for place in (places if offsets is None else offsets)]
    else:
        pieces += pieces_of_offsets
    pieces.append(after_table)
    pieces.append(trailer(offset_size, reference_size, len(objects) if count is None else count, top,
                          start if table is None else table, unused))
    return pieces


class Cases:
    """The cases of one file, each with a name of its own."""

    def __init__(self, about):
        self.about, self.list, self.names = about, [], set()

    def add(self, name, clause, data, **answer):
        assert name not in self.names, name
        self.names.add(name)
        pieces = merged(data if isinstance(data, list) else [data])
        told = {"hex": pieces[0].hex()} if len(pieces) == 1 and isinstance(pieces[0], bytes) else {
            "pieces": [{"hex": one.hex(), "times": 1} if isinstance(one, bytes) else one.piece() for one in pieces]}
        self.list.append({"name": name, "clause": clause, **told, **answer})

    def reads(self, name, clause, data, value):
        """A list that is read; whether it is canonical follows from the value."""
        whole = flat(data) if isinstance(data, list) else data
        self.add(name, clause, data, value=values.notation(value), canonical=values.canonical(value) == whole)

    def accepts(self, name, clause, data):
        """A list that is read, whatever it means."""
        self.add(name, clause, data)

    def refuses(self, name, clause, fault, data):
        """A list that is refused for this fault."""
        self.add(name, clause, data, error="malformed", fault=fault)

    def document(self):
        return {"about": self.about, "cases": self.list}

    def compared(self):
        """The document of cases that readers in wide use answer, some of them differently."""
        for case in self.list:
            differences.note(case)
        return {"about": self.about, "differences": differences.used(self.list), "cases": self.list}


def merged(pieces):
    """Neighbouring plain bytes become one piece."""
    result = []
    for piece in pieces:
        if isinstance(piece, bytes) and result and isinstance(result[-1], bytes):
            result[-1] += piece
        elif piece != b"":
            result.append(piece)
    return result or [b""]
