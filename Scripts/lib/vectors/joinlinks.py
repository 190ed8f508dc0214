"""Cases of join links (Protocol/Pairing.md PAR-4): the text of each, and the fields in it or the fault of it. The texts
are put together from the clause; an escape is written in capitals, as RFC 3986 section 2.1 asks of a writer.

Left out is every text on which the clause is silent: escapes in small letters, leading zeros, port 0, a
control character in a host, `: / [ ]` in a name, and lengths other than those of the bytes and of a device's name.
"""
import base64
import itertools
import string

ABOUT = (
    "Join links (PAR-4): `link` has the fields of `text`, which a writer makes of them: bytes as hexadecimal, "
    "`expires` in seconds since 1970, `name` absent if the link has none. A text with a `fault` is refused. The fault "
    "is the first parameter that is missing, misplaced or malformed; `address` for an `at` that is neither HOST:PORT "
    "nor unix:PATH; `surplus` for something after the last parameter; `not-a-join-link` for another beginning.")
PREFIX = "tandem:join/1?"
PLAIN = (string.ascii_letters + string.digits + "-._~:/[]").encode()
TOKEN, SECRET, KEY = bytes(range(16)), bytes(range(16, 32)), bytes(range(32, 64))
LINK = {"at": "gateway.example:4747", "token": TOKEN, "secret": SECRET, "key": KEY, "expires": 1_800_000_900,
        "name": "gateway"}


class Links:
    """The cases of the file, in order."""

    def __init__(self):
        self.list, self.names = [], set()

    def add(self, name, text, clause="PAR-4", /, **answer):
        assert name not in self.names, name
        self.names.add(name)
        self.list.append({"name": name, "clause": clause, "text": text, **answer})

    def reads(self, title, clause="PAR-4", /, **changes):
        fields = {key: value for key, value in {**LINK, **changes}.items() if value is not None}
        told = {key: value.hex() if isinstance(value, bytes) else value for key, value in fields.items()}
        self.add(title, PREFIX + "&".join(spelled(fields).values()), clause, link=told)

    def refuses(self, fault, title, clause="PAR-4", /, *, prefix=PREFIX, after="", **spellings):
        """The usual link with parameters spelled otherwise; a spelling that is None is left out."""
        told = {key: text for key, text in {**spelled(LINK), **spellings}.items() if text is not None}
        self.add(title, prefix + "&".join(told.values()) + after, clause, fault=fault)


def escaped(text):
    return "".join(chr(byte) if byte in PLAIN else f"%{byte:02X}" for byte in text.encode())


def base64url(data):
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def spelled(fields):
    """Each parameter as it stands in the link, in the order of the clause."""
    write = {bytes: base64url, str: escaped, int: str}
    return {key: f"{key}={write[type(fields[key])](fields[key])}" for key in LINK if key in fields}


def made():
    cases = Links()
    for part in (read, beginnings, addresses, lengths, times, names, orders):
        part(cases)
    return {"about": ABOUT, "cases": cases.list}


def read(cases):
    cases.reads("with the primary's name")
    cases.reads("without a name", name=None)
    for address in ("10.0.0.1:65535", "[::1]:4747", "h:1", "a-b_c~d.example:443", "unix:/run/tandem/link.sock"):
        cases.reads(f"the address {address}", at=address)
    cases.reads("characters of a path that are escaped", at="unix:/run/tandem+1/a,b&c=d%e.sock")
    cases.reads("a path beyond ASCII", at="unix:/run/k\u00fcche/\u2602.sock")
    cases.reads("a path with a space", at="unix:/run/my hub/link.sock")
    cases.reads("bytes of zeros and of ones", token=bytes(16), secret=b"\xff" * 16, key=b"\xff" * 32)
    cases.reads("both characters of base64url", token=bytes.fromhex("fbefbeffffff") + bytes(10))
    cases.reads("a time that is over", expires=0)
    cases.reads("a time far away", expires=253_402_300_799)
    for name, text in (("escapes", "K\u00fcche & Bad"), ("what looks like an escape", "a%20b"),
                       ("a smile", "\U0001f642")):
        cases.reads(f"a name with {name}", name=text)
    cases.reads("a name of 1 byte", "SES-2", name="g")
    cases.reads("a name of 64 bytes", "SES-2", name="\u00fc" * 32)


def beginnings(cases):
    fault = "not-a-join-link"
    cases.add("no text", "", fault=fault)
    cases.add("a link of a configuration", "tandem:apply/1?e=AAAA", fault=fault)
    for name, prefix in (("another version", "tandem:join/2?"), ("the scheme in capitals", "TANDEM:join/1?"),
                         ("another scheme", "https:join/1?"), ("an authority", "tandem://join/1?"),
                         ("a space before it", " " + PREFIX), ("no question mark", "tandem:join/1")):
        cases.refuses(fault, name, prefix=prefix)


def addresses(cases):
    for name, at in (
        ("an address with a raw space", "at=unix:/a b"), ("an address with a raw plus", "at=unix:/a+b"),
        ("an address with a raw letter beyond ASCII", "at=k\u00fcche.example:4747"),
        ("an address with an escaped letter", "at=%67ateway.example:4747"),
        ("an address with an escaped colon", "at=gateway.example%3A4747"),
        ("an escape that is cut", "at=unix:/a%2"), ("an escape of other digits", "at=unix:/a%2G"),
        ("an address that is no UTF-8", "at=unix:/%FF"), ("the address under another name", "to=gateway.example:4747"),
        ("the address under a name in capitals", "AT=gateway.example:4747"), ("no equals sign", "at"),
        ("no address", None),
    ):
        cases.refuses("at", name, at=at)
    cases.add("no parameter", PREFIX, fault="at")
    for address in ("", "gateway.example", "gateway.example:", ":4747", "gateway.example:65536", "gateway.example:http",
                    "gateway.example:-1", "gateway.example:04747", "gateway.example:0", "unix:"):
        cases.refuses("address", f"as an address {address or 'nothing'}", at=f"at={address}")
    cases.refuses("address", "a path with a control character", at="at=unix:/a%1Bb")
    cases.refuses("address", "a host with a space", at="at=my%20hub:4747")


def lengths(cases):
    for key, whole in (("token", TOKEN), ("secret", SECRET), ("key", KEY)):
        text = base64url(whole)
        for name, spelling in (
            ("with a byte less", base64url(whole[:-1])), ("with a byte more", base64url(whole + b"\0")),
            ("of no bytes", ""), ("with padding", base64.urlsafe_b64encode(whole).decode()),
            ("in hexadecimal", whole.hex()),
            ("with a character of plain base64", "/" + text[1:]), ("with an escape", "%41" + text[1:]),
            ("with a space", text[:8] + " " + text[8:]), ("with spare bits that are not zero", text[:-1] + "h"),
        ):
            cases.refuses(key, f"a {key} {name}", **{key: f"{key}={spelling}"})


def times(cases):
    for text in ("", "-1", "+1", "1.5", "1e9", "0x10", "soon", "1800000900s", "01800000900", str(1 << 63)):
        cases.refuses("expires", f"as a time {text or 'nothing'}", expires=f"expires={text}")
    cases.refuses("expires", "a line's end after a link without a name", name=None, after="\n")


def names(cases):
    for name, text in (("with a raw space", "a b"), ("that is no UTF-8", "%FF"), ("with an escape that is cut", "a%C"),
                       ("with an escaped letter", "%67ateway"), ("with a fragment after it", "gateway#x"),
                       ("with a line's end after it", "gateway\n")):
        cases.refuses("name", f"a name {name}", name=f"name={text}")
    cases.refuses("name", "a name of no bytes", "SES-2", name="name=")
    cases.refuses("name", "a name of 65 bytes", "SES-2", name="name=" + "x" * 65)


def orders(cases):
    for key in ("token", "secret", "key", "expires"):
        cases.refuses(key, f"no {key}", **{key: None})
    told = spelled(LINK)
    for one, other in itertools.pairwise(LINK):
        cases.refuses(one, f"{other} before {one}", **{one: told[other], other: told[one]})
        cases.refuses(other, f"{one} twice", **{one: f"{told[one]}&{told[one]}"})
    cases.refuses("surplus", "the name twice", after="&name=gateway")
    cases.refuses("surplus", "another parameter after the name", after="&x=1")
    cases.refuses("surplus", "an ampersand after the name", after="&")
    cases.refuses("name", "another parameter in place of the name", name="x=1")
    cases.refuses("token", "another parameter between", at=told["at"] + "&x=1")
