// Files: whole, in order, once, whatever happens to their bytes on the way; and nothing is left of those that end
// early.

import PairedSession
import TandemBase
import TandemCrypto
import TandemPropertyList
import TandemSession
import TandemTestSupport
import TandemTransport
import TandemWire

enum FileCases {
    static let all: [Case] =
        [filesBothWays, fileWaits, fileRejected, fileTaken, fileNames, fileSpoiled, fileCut, fileTorn]
        + [Ending.orderly, .killed].flatMap { ending in
            [Place.primary, .secondary(0)].map { fileRestart($0, ending) }
        }

    /// Files on their way from one app to the other.
    private final class Flow {
        private let stage: Stage
        private let directory = TemporaryDirectory()
        private var contents: [Int64: [UInt8]] = [:]
        private var wrong: [String] = []
        private(set) var transfers: [FileTransfer] = []

        init(_ stage: Stage) { self.stage = stage }

        /// Gives a file of that many random bytes.
        func send(_ number: Int64, from app: App, bytes count: Int) {
            let bytes = stage.generator.bytes(count)
            contents[number] = bytes
            directory.write(bytes, to: "file-\(number)")
            transfers.append(
                app.session.beginFileTransfer(directory.path("file-\(number)"), metadata: ["n": .integer(number)]))
        }

        /// Waits until the last file is an item; an app whose daemon goes meanwhile gives it again.
        func waitUntilAccepted(from app: App) throws {
            while let last = transfers.last {
                try stage.wait("an answer") { last.transfer != nil || last.refusal != nil }
                guard let refusal = last.refusal else { return }
                try stage.demandPassing(refusal)
                transfers.removeLast()
                let number = Int64(transfers.count)
                try stage.wait("the app has its daemon") { app.isReachable }
                transfers.append(
                    app.session.beginFileTransfer(directory.path("file-\(number)"), metadata: ["n": .integer(number)]))
            }
        }

        /// Handles files at an app, and compares each with its source.
        func handle(at app: App) {
            app.handle([.file]) { [unowned self] item, _ in
                let path = item.content["path"]?.stringValue ?? ""
                let bytes = contents[item.number] ?? []
                if TemporaryDirectory.read(path) != bytes { wrong.append("\(item.number) at \(path)") }
                let manifest: PropertyListDictionary = [
                    "name": .string("file-\(item.number)"), "size": .integer(Int64(bytes.count)),
                    "digest": .data(SHA256.digest(bytes)),
                ]
                for (key, value) in manifest where item.content[key] != value {
                    wrong.append("the \(key) of \(item.number)")
                }
                return .handled
            }
        }

        var areHandled: Bool {
            transfers.allSatisfy { if case .finished(.handled)? = $0.transfer?.state { true } else { false } }
        }

        /// All are handled, whole, in order, and once unless something ended a handler.
        func finish(at place: Place) throws {
            try stage.wait("all files are handled", within: .seconds(900)) { areHandled }
            try demand(wrong.isEmpty, "as they were sent: \(wrong)")
            try stage.checkFlow(contents.keys.sorted().map { Int($0) }, at: place, channel: .file)
        }
    }

    private static let filesBothWays = Case(
        "FIL-10", "files arrive whole, with name and metadata, in both directions at once", needs: [.durable]
    ) { stage in
        let (primary, secondary) = try stage.pair()
        let (there, back) = (Flow(stage), Flow(stage))
        there.handle(at: secondary)
        back.handle(at: primary)
        for (number, size) in [0, 1, 65_536, 65_537, 300_000].enumerated() {
            there.send(Int64(number), from: primary, bytes: size)
            back.send(Int64(number), from: secondary, bytes: size)
        }
        try there.finish(at: .secondary(0))
        try back.finish(at: .primary)
        for transfer in there.transfers + back.transfers {
            let progress = transfer.progress
            try demand(progress.handedOver == progress.total && progress.transferred == progress.total, "\(progress)")
        }
    }

    private static let fileWaits = Case(
        "FIL-15", "a file waits on the other device for an app that is away", needs: [.durable]
    ) { stage in
        let primary = try stage.alone()
        let files = Flow(stage)
        files.send(0, from: primary, bytes: 100_000)
        try stage.wait("the other device has it") { files.transfers[0].progress.transferred == 100_000 }
        files.handle(at: try stage.app(at: .secondary(0)))
        try files.finish(at: .secondary(0))
    }

    private static let fileRejected = Case(
        "FIL-15", "a file that its handler rejects ends, and the next arrives", needs: [.durable]
    ) { stage in
        let (primary, secondary) = try stage.pair()
        secondary.handle([.file]) { item, _ in
            item.number == 0 ? .rejected(SessionError(.genericError, name: "rejected", reason: "no")) : .handled
        }
        let files = Flow(stage)
        for number in Int64(0)..<2 { files.send(number, from: primary, bytes: 1000) }
        try stage.wait("both end") {
            files.transfers.allSatisfy { if case .finished? = $0.transfer?.state { true } else { false } }
        }
        guard case .finished(.failed)? = files.transfers[0].transfer?.state else {
            throw Violation("rejected: \(files.transfers[0].transfer?.state as Any)")
        }
        try demand(secondary.items.map(\.number) == [0, 1], "each once: \(secondary.items.map(\.number))")
    }

    private static let fileTaken = Case(
        "FIL-3", "a sender is told that its daemon has all of a file before it is accepted", needs: [.durable]
    ) { stage in
        let (primary, _) = try stage.rawPair()
        for content: [UInt8] in [[], [1, 2, 3]] {
            let id = try stage.handOver(content, named: "file", from: primary)
            let told = try primary.envelopes.filter { $0.id == id }
            let whole = told.firstIndex { $0.name == "taking" && $0.offset == UInt64(content.count) }
            let accepted = told.firstIndex { $0.kind == .accepted }
            guard let whole, let accepted, whole < accepted else {
                throw Violation("'taking' \(content.count) first: \(told.map { "\($0.kind) \($0.offset ?? 0)" })")
            }
        }
    }

    private static let fileNames = Case(
        "FIL-12", "a name that leads elsewhere stays a text, and its file is in the directory of its item",
        needs: [.durable]
    ) { stage in
        let (primary, secondary) = try stage.rawPair()
        let home = try secondary.only(.registered).dictionaryBody()["directory"]?.stringValue
        let names: [(name: String, last: String?)] = [
            ("../../../escape", "escape"), ("/etc/passwd", "passwd"), ("..", nil), ("", "file"), ("a\nb", "a_b"),
            ("up/\u{1B}[2J.txt", "_[2J.txt"), (".hidden", "_hidden"), ("-rf", "_rf"), ("a\\b", "a_b"),
        ]
        for (number, each) in names.enumerated() {
            let content = [UInt8(number)]
            _ = try stage.handOver(content, named: each.name, from: primary)
            let delivery = try stage.delivery(number, at: secondary)
            let manifest = try delivery.dictionaryBody()
            try demand(manifest["name"] == .string(each.name), "the sender's name: \(manifest)")
            let path = manifest["path"]?.stringValue ?? ""
            let parts = path.split(separator: "/", omittingEmptySubsequences: false).map { String($0) }
            try demand(
                parts.count > 4 && parts[parts.count - 4] == "inbox" && !parts.contains(".") && !parts.contains(".."),
                "in inbox/PAIRING/ITEM: \(path)")
            if let home { try demand(path.hasPrefix("\(home)/inbox/"), "within \(home): \(path)") }
            if let last = each.last { try demand(parts.last == last, "'\(last)': \(path)") }
            try demand(TemporaryDirectory.read(path) == content, "its bytes are at \(path)")
            try secondary.judge(delivery, "handled")
        }
    }

    private static let fileSpoiled = Case(
        "FIL-11", "a file of other bytes than its digest says reaches no handler, and its sender is told",
        needs: [.durable, .cut, .restart]
    ) { stage in
        let (first, secondary) = try stage.rawPair()
        try stage.unlink(first)
        let content = stage.generator.bytes(5000)
        let file = try stage.handOver(content, named: "file", from: first)
        var isSpoiled = false
        try stage.restart(.primary, .orderly) { state in isSpoiled = StateDirectory.spoil(content, in: state) }
        // A daemon that keeps the bytes in another form is not judged.
        guard isSpoiled else { return }
        let primary = try stage.registered(at: .primary)
        stage.relink()
        try stage.wait("it ends", pauses: Backoff.longest + .seconds(1 + 2 + 4 + 8)) {
            try !primary.received(.finished).isEmpty
        }
        let end = try primary.only(.finished)
        try demand(end.id == file && end.name != "handled", "it ends otherwise: \(end.name ?? "")")
        try demand(secondary.received(.delivery).isEmpty, "no handler has it")
    }

    // MARK: what breaks meanwhile

    /// Files flow while something is done to them until the last is handled.
    private static func disturbed(
        _ clause: String, _ name: String, needs: Set<Ability>, _ disturb: @escaping @Sendable (Stage) throws -> Void
    ) -> Case {
        Case(clause, name, needs: needs.union([.durable])) { stage in
            let (primary, secondary) = try stage.pair()
            let files = Flow(stage)
            files.handle(at: secondary)
            for number in 0..<6 {
                try stage.wait("the app has its daemon") { primary.session.activationState == .activated }
                files.send(Int64(number), from: primary, bytes: Int.random(in: 0...400_000, using: &stage.generator))
                stage.pass(.milliseconds(Int64.random(in: 0...20, using: &stage.generator)))
                // The library restarts a hand-over that the daemon's restart has cut off.
                try disturb(stage)
                try files.waitUntilAccepted(from: primary)
            }
            stage.endStreamFaults()
            try files.finish(at: .secondary(0))
        }
    }

    private static let fileCut = disturbed(
        "FIL-8", "files go on where they were when links are cut", needs: [.cut]
    ) { stage in stage.cutLinks() }

    private static let fileTorn = disturbed(
        "FIL-9", "files come through late, broken and stalled streams", needs: [.cut, .streamFaults]
    ) { stage in
        guard stage.world.streamFaults == nil else { return }
        stage.world.streamFaults = FaultPlan.storm(seed: stage.generator.next())
        stage.cutLinks()
    }

    private static func fileRestart(_ place: Place, _ ending: Ending) -> Case {
        disturbed(
            "FIL-8", "files flow on when the \(place)'s daemon was \(ending.participle)", needs: ending.needs
        ) { stage in try stage.restart(place, ending) }
    }
}

extension Stage {
    /// Hands a file over without the library.
    /// - Returns: its item, which is accepted.
    fileprivate func handOver(_ content: [UInt8], named name: String, from app: RawApp) throws -> UniqueIdentifier {
        let id = UniqueIdentifier.random()
        var frame = try submission(on: .file)
        frame.id = id
        let body: PropertyListDictionary = ["name": .string(name), "size": .integer(Int64(content.count))]
        try app.send(frame.with(body: body))
        try wait("the daemon takes it") {
            try app.received(.progress).contains { $0.id == id && $0.name == "taking" }
        }
        if !content.isEmpty {
            try app.send(
                Envelope(
                    .chunk, app: frame.app, pairing: frame.pairing, id: id, channel: .file, offset: 0, body: content))
        }
        try wait("it is accepted") { try app.received(.accepted).contains { $0.id == id } }
        return id
    }
}
