"""Proves that the rooms check can fail: each violation is planted in a copy of the package, and the check must name it.
A rule that nothing here violates is a rule that nobody knows to work.
"""
import shutil
import tempfile
from pathlib import Path

import rooms

HEADER = "// Planted by the self-test.\n\n"
# (what it is, file to write, its text, what the report must say)
FILES = [
    ("upward import", "Sources/Values/Base/Planted.swift", "import TandemWire\n", "does not give to TandemBase"),
    ("stranger", "Sources/Decisions/Session/Planted.swift", "import TandemStore\n", "does not give to TandemSession"),
    ("second door", "Sources/Services/Daemon/Planted.swift", "internal import CTandemSQLite\n", "CTandemSQLite is imported by"),
    ("Foundation", "Sources/Services/Daemon/Planted.swift", "import Foundation\n", "only PairedSessionFoundation"),
    ("attributed import", "Sources/Services/Daemon/Planted.swift", "@preconcurrency public import Foundation\n", "Foundation"),
    ("Glibc in a decision", "Sources/Decisions/Pairing/Planted.swift", "import Glibc\n", "a decision does no I/O"),
    ("Glibc unexplained", "Sources/Values/Base/Planted.swift", "import Glibc\n", "needs a comment"),
    ("unknown module", "Sources/Values/Base/Planted.swift", "import XCTest\n", "does not give to TandemBase"),
    ("test support", "Sources/Services/Daemon/Planted.swift", "import TandemTestSupport\n", "does not give to TandemDaemon"),
    ("long file", "Sources/Values/Wire/Planted.swift", "// line\n" * 601, "at most 600"),
    ("trap", "Sources/Values/Wire/Planted.swift", "let planted = try! read()\n", "would trap"),
    ("foreign parser", "Sources/Services/PairedSessionFoundation/Planted.swift",
     "let planted = Property" + "ListSerialization.self\n", "must never see outside bytes"),
    ("empty name", "Sources/Machinery/Store/Planted.swift", "final class StoreManager {}\n", "says nothing"),
    ("unchecked", "Sources/Machinery/Store/Planted.swift", "\n\n\nstruct Box: @unchecked Sendable {}\n", "needs a comment naming"),
    ("unchecked for no reason", "Sources/Machinery/Store/Planted.swift",
     "/// A box for bytes.\nstruct Box: @unchecked Sendable {}\n", "needs a comment naming"),
    ("reason too far away", "Tests/StoreTests/Planted.swift",
     "// Under a lock.\n\nstruct Box: @unchecked Sendable {}\n", "needs a comment naming"),
    ("headless comment", "Sources/Values/Wire/Planted.swift", "    /// Whoever asks.\n", "opens with 'Whoever'"),
    ("headless sentence", "Tests/Benchmarks/planted.c", "// A queue. What waits is bounded.\n",
     "opens with 'What'"),
    ("wide comment", "Tests/Consumer/Sources/PlainApp/Planted.swift", "// " + 118 * "w" + "\n", "of 121 columns"),
    ("waiting decision", "Sources/Decisions/Session/Planted.swift", "func ask() async {}\n", "never waits"),
    ("locking decision", "Sources/Decisions/Delivery/Planted.swift", "let lock = Mutex(0)\n",
     "'Mutex': a decision takes no lock"),
    ("task below", "Sources/Machinery/Reactor/Planted.swift", "let task = Task { 1 }\n", "tasks start in"),
    ("unfinished", "Sources/Values/Base/Planted.swift", "// TO" + "DO: later\n", "finish it"),
    ("long function", "Sources/Values/Base/Planted.swift", "func long() {\n" + "    run()\n" * 61 + "}\n", "of 61 lines"),
    ("long function behind a default", "Sources/Values/Base/Planted.swift",
     "func long(_ run: () -> Int = { 1 }) {\n" + "    run()\n" * 61 + "}\n", "of 61 lines"),
    ("lock", "Sources/Machinery/Store/Planted.swift", "let lock = NSLock()\n", "Mutex and Atomic only"),
    ("unknown clause", "Sources/Values/Base/Planted.swift", "// As FRM-" + "99 says.\n", "does not exist in Protocol"),
    ("fragment", "Sources/Values/Base/Planted+Topic.swift", "extension Planted { func more() {} }\n", "no extension makes"),
    ("test double", "Sources/Machinery/Store/Planted.swift", "final class FakeStore {}\n", "is a test double"),
    ("folder arrow", "Sources/Services/Daemon/Forwarding/Planted.swift", "func look(_: NodeOptions) {}\n",
     "has no arrow to it"),
    ("folder without row", "Sources/Services/Daemon/Planted/Planted.swift", "struct Planted {}\n", "has one row in"),
    ("error name as text", "Sources/Services/PairedSession/Planted.swift",
     'let planted = SessionError(.genericError, name: "cancelled", reason: "")\n', "write the case of AnswerName or ErrorName"),
    ("word in a choice", "Sources/Services/Daemon/Apps/Planted.swift",
     'let planted = Planted(name: isFull ? "full" : "store")\n', "write the case of AnswerName or ControlFailureName"),
    ("compared channel", "Sources/Services/Daemon/Node/Planted.swift", 'let planted = word == "urgent"\n',
     "write the case of Capability or Channel"),
    ("word in a command", "Sources/Commands/tandem/Planted.swift", 'let planted = request(command: "join")\n',
     "write the case of ControlName or FrameKind"),
    ("switch over kinds", "Sources/Decisions/Session/Planted.swift", '    case "ping", "pong": true\n',
     '"pong" is a wire word'),
    ("word that is no English", "Sources/Decisions/Delivery/Planted.swift", 'let planted = log("too-large")\n',
     "write the case of ErrorName or RefusalName"),
    ("body key as text", "Sources/Services/Daemon/Links/Planted.swift", 'let planted = body["text"]\n',
     "write BodyKey.text"),
    ("text past the door", "Sources/Services/Daemon/Apps/PlantedWord.swift",
     "let planted = FrameKind(rawValue: text)\n", "a text becomes a case of FrameKind through"),
    ("text past the door by a function", "Sources/Services/Daemon/Node/PlantedWord.swift",
     "let planted = text.flatMap(DeviceRole.init(rawValue:))\n", "a text becomes a case of DeviceRole through"),
    ("text past the door in its own type", "Sources/Decisions/Session/PlantedWord.swift",
     "enum Planted: String {\n    init?(_ text: String) { self.init(rawValue: text) }\n}\n",
     "a text becomes a case of Planted through"),
    ("text past the door of any type", "Sources/Values/Wire/PlantedWord.swift",
     "func planted<Choice: RawRepresentable<String>>() -> Choice? { Choice(rawValue: text) }\n",
     "a text becomes a case of Choice through"),
    ("text past the door without a type", "Sources/Decisions/Console/PlantedWord.swift",
     "let planted: FrameKind? = .init(rawValue: text)\n", "becomes a case of an enum of texts through"),
    ("stray file", "notes.txt", "", "at the top level"),
]
# (what it is, the file, a text in it, its replacement, what the report must say)
MANIFEST = "Package.swift"
EDITS = [
    ("manifest upward", MANIFEST, 'room("Values", "Wire", imports: ["TandemBase", "TandemPropertyList"])',
     'room("Values", "Wire", imports: ["TandemStore"])',
     "Machinery is above Values"),
    ("manifest strangers", MANIFEST, 'room("Decisions", "Pairing", imports: values)',
     'room("Decisions", "Pairing", imports: values + ["TandemReactor"])', "strangers"),
    ("manifest door", MANIFEST, 'room("Values", "Pattern", imports: ["CTandemPCRE2"])',
     'room("Values", "Pattern", imports: ["CTandemPCRE2", "CTandemOpenSSL"])', "only importing rooms"),
    ("manifest reach", MANIFEST, 'room("Machinery", "Files", imports: ["TandemReactor", "TandemBase"])',
     'room("Machinery", "Files", imports: ["TandemReactor", "TandemCrypto", "TandemBase"])',
     "PairedSession links CTandemOpenSSL"),
    ("manifest order", MANIFEST, 'room("Values", "Base")', 'room("Values", "Base", imports: ["TandemWire"])',
     "earlier in"),
    ("package", MANIFEST, '"libpcre2-dev"', '"libplanted-dev"', "libplanted-dev"),
    ("room not drawn", MANIFEST, 'room("Services", "Daemon",', 'room("Services", "Planted",', "floor plan lacks Planted"),
    ("room not built", "Sources/README.md", "Services    Daemon", "Services    Daemon  Planted", "floor plan shows Planted"),
    ("kind not in Protocol", "Sources/Values/Wire/FrameKind.swift", "    case hello, ", "    case planted, ",
     "FrameKind has 'planted'"),
    ("name not in code", "Protocol/Session.md", "`slow-consumer`, `join-refused`", "`planted`, `join-refused`",
     "'planted' is listed"),
    ("problem not in Protocol", "Sources/Decisions/Operations/HealthLedger.swift", "        case backlog\n",
     "        case planted\n", "Word has 'planted', which Protocol/Control.md"),
    ("problem not in code", "Protocol/Control.md", "`draining` (CTL-14)", "`planted` (CTL-14)", "'planted' is listed"),
    ("type not in Protocol", "Sources/Decisions/Settings/SettingDeclaration.swift", "    case coded\n",
     "    case planted\n", "SettingType has 'planted'"),
    ("error number", "Protocol/Session.md", "7007 notReachable", "7007 planted", "7007 planted"),
    ("clause untested", "Protocol/Frames.md", "**FRM-2**", "**FRM-98** A planted clause.\n\n**FRM-2**",
     "FRM-98 is cited by no test"),
    ("limit changed", "Sources/Values/Wire/Limits.swift", "queuedItems = 10_000", "queuedItems = 9_999",
     "LIM-14 says 10,000"),
    ("limit's reason moved", "Protocol/Limits.md", "| 4,096 | bounded by descriptors", "| 4,097 | bounded by descriptors",
     "LIM-4 says 4,097"),
    ("test renamed", "Tests/SignedConfigurationTests/TargetTests.swift", "any other target is refused", "planted",
     '"any other target is refused" is in 0 titles of TargetTests'),
    ("vector renamed", "Protocol/Vectors/signing/keysets.json", '"name": "the last root key"', '"name": "planted"',
     '"the last root key" is in 0 titles of keysets.json'),
    ("hostile case gone", "Scripts/lib/hostile/strangers.py", "made-up join tokens and garbage", "planted",
     '"made-up join tokens and garbage" is in 0 titles of hostile/strangers'),
    ("actor without test", "Protocol/ThreatModel.md", "| CFG-60 | `OpenLinkTests` ", "| CFG-60 | a damaged link ",
     "has to name its tests"),
    ("actor without clause", "Protocol/ThreatModel.md", "| CFG-60 | `OpenLinkTests` ", "| a link | `OpenLinkTests` ",
     "names no clause that demands it"),
    ("actor without verdict", "Protocol/ThreatModel.md", "| cannot | change a link ", "| may | change a link ",
     "is not a row of clause"),
    ("test of two files", "Protocol/ThreatModel.md", '`SystemTests/ConfigurationTests` "a different', '`TrialTests` "a different',
     "`TrialTests` is the name of 3 files"),
    ("no actors", "Protocol/ThreatModel.md", "## Actors", "## Planted", "no table of actors"),
    ("clause twice", "Protocol/Frames.md", "**FRM-2**", "**FRM-1**", "FRM-1 is defined 2 times"),
]


def run(root, problems_of):
    """Yields what the check failed to notice. `problems_of(root, house)` is the check itself."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy"
        shutil.copytree(root, copy, ignore=shutil.ignore_patterns(".build", ".git", ".run", "__pycache__"))
        house = rooms.read(copy)
        before = set(problems_of(copy, house))
        edits = []
        for title, name, old, new, expected in EDITS:
            text = (copy / name).read_text()
            if old in text:
                edits.append((title, name, text.replace(old, new), expected))
            else:
                yield f"self-test: '{title}' no longer fits {name}; change its text"
        files = [(title, name, HEADER * (text != "") + text, expected) for title, name, text, expected in FILES]
        for turn in turns(files + edits):
            originals = {name: plant(copy / name, text) for _, name, text, _ in turn}
            # A manifest as it was has the rooms that it had.
            found = set(problems_of(copy, None if MANIFEST in originals else house)) - before
            for title, _, _, expected in turn:
                if not any(expected in problem for problem in found):
                    yield f"self-test: '{title}' was not noticed (no report says '{expected}')"
            for problem in found:
                known = [title for title, _, _, expected in turn if expected in problem]
                if len(known) > 1:
                    yield f"self-test: one report stands for {known}; expect other words of one ({problem})"
            for name, text in originals.items():
                restore(copy / name, text)


def turns(violations):
    """The check takes a while, so that many are planted together: in different files, and none is reported in words
    that another is known by.
    """
    groups = []
    for violation in violations:
        _, name, _, words = violation
        for group in groups:
            if not any(name == other or words in known or known in words for _, other, _, known in group):
                group.append(violation)
                break
        else:
            groups.append([violation])
    return groups


def plant(file, text):
    """Returns the text that was there, None if there was no such file."""
    original = file.read_text() if file.exists() else None
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    return original


def restore(file, text):
    if text is not None:
        file.write_text(text)
        return
    file.unlink()
    if not any(file.parent.iterdir()):
        file.parent.rmdir()
