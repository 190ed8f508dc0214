// Durable items: user infos, urgent ones, contexts; how they are sent, handled and listed.

import PairedSession

enum Durable {
    // snippet.queue
    static func queue(_ session: PairedSession) async throws(SessionError) {
        let transfer = try await session.transferUserInfo(["reading": 21.5])  // accepted: durable here
        try await transfer.reached(.stored)  // durable on the other device
        if case .failed(let error) = try await transfer.outcome() { print("never handled: \(error)") }
    }
    // snippet.end

    // snippet.options
    static func sign(_ session: PairedSession, in isIn: Bool) async throws(SessionError) {
        var options = TransferOptions(topic: "account", supersedeKey: "signed-in", timeToLive: .seconds(86_400))
        let first = try await session.transferUserInfo(["signedIn": .boolean(isIn)], options: options)
        options.supersedeKey = nil
        options.after = first.id  // not before that one has ended
        try await session.transferUserInfo(["welcome": true], options: options, until: .handled)
    }
    // snippet.end

    // snippet.urgent
    static func glance(_ session: PairedSession) async throws(SessionError) {
        let budget = try await session.urgentBudget()
        guard budget.remaining > 0 else { return print("\(budget.limit) a day, again in \(budget.resetsIn)") }
        let transfer = try await session.transferUrgentUserInfo(["alarm": true], kind: "alarm")
        if transfer.isDemoted { print("an ordinary user info now") }
    }
    // snippet.end

    // snippet.context
    static func context(_ session: PairedSession) async throws(SessionError) {
        let update = try await session.updateApplicationContext(["mode": "night"])
        print("revision \(update.revision), new: \(update.isNew)")
        try await session.updateApplicationContext(["mode": "night"], policy: .always)
        if let sent = session.applicationContext { print("sent: \(sent.count) keys") }
        if let received = session.receivedApplicationContext { print("received: \(received.count) keys") }
    }
    // snippet.end

    // snippet.handle
    static func handle(_ session: PairedSession, book: Book) {
        session.handleUserInfo { item in
            try await book.add(item.userInfo, once: item.facts.id)  // throws: comes again
        }
        session.handleUserInfo(topic: "account") { item in
            guard item.userInfo["signedIn"] != nil else { throw ItemRejection(reason: "not about signing in") }
            if item.facts.isRedelivery { print("attempt \(item.facts.attempt)") }
        }
        session.handleApplicationContext { context in print("revision \(context.revision)") }
    }
    // snippet.end

    // snippet.file
    static func file(_ session: PairedSession, _ path: String) async throws(SessionError) {
        let transfer = session.beginFileTransfer(path, metadata: ["day": "monday"])
        for await progress in transfer.progressUpdates {
            print("\(progress.handedOver) copied, \(progress.transferred) there, of \(progress.total) bytes")
        }
        try await transfer.reached(.stored)
        try await session.transferFile(path, until: .handled)  // the same in one call
    }
    // snippet.end

    // snippet.files
    static func files(_ session: PairedSession, into directory: String) {
        session.handleFiles { file in
            try file.move(to: "\(directory)/\(file.facts.id)")
            print("'\(file.name)' has \(file.size) bytes, metadata \(file.metadata?.count ?? 0) keys")
        }
        session.observeIncomingFiles { file in print("\(file.received) of \(file.size) bytes") }
    }
    // snippet.end

    // snippet.exit
    static func sendAndExit(_ session: PairedSession, _ paths: [String]) async throws(SessionError) {
        let files = paths.map { session.beginFileTransfer($0) }
        try await session.drained(timeout: .seconds(60))  // accepted or failed, each of them
        for file in files where file.transfer == nil { print("not sent: \(file.path)") }
        await session.end()
    }
    // snippet.end

    // snippet.limits
    static func fits(_ state: PropertyListDictionary) throws -> Bool {
        try PropertyListWriter.write(state).count <= PairedSession.limits.context
    }
    // snippet.end

    // snippet.look
    static func look(_ session: PairedSession) async throws(SessionError) {
        session.observeTransfers { update in print(update.kind, update.id, update.state) }
        for item in try await session.outstandingTransfers(.userInfo) where item.state == .accepted {
            print("\(item.size) bytes wait for \(item.topic ?? "any handler")")
            switch try await session.cancelTransfer(item) {
            case .cancelled: print("no handler will ever have it")
            case .tooLate(let outcome): print("too late: \(outcome)")
            case .unknown: print("not known yet: its end tells")
            }
        }
    }
    // snippet.end

    /// Gives up an item that this process sent.
    static func giveUp(_ transfer: Transfer) async throws(SessionError) {
        guard transfer.isTransferring, transfer.kind != .file else { return }
        print(transfer.pairing, try await transfer.cancel(), word(for: try await transfer.outcome()))
    }

    /// How an item ended.
    static func word(for outcome: TransferOutcome) -> String {
        switch outcome {
        case .handled: "handled"
        case .cancelled: "taken back"
        case .expired: "too old"
        case .superseded: "replaced"
        case .failed(let error): "failed: \(outcome.error ?? error)"
        }
    }

    /// The urgent items on their way, by what they hold.
    static func urgent(_ session: PairedSession) async throws(SessionError) -> [PropertyListDictionary] {
        try await session.outstandingTransfers(.urgent).filter(\.isCurrent).compactMap { item in
            item.body.flatMap { try? PropertyListReader.readDictionary($0) }
        }
    }

    /// Gives a file up, in whatever phase it is.
    static func giveUp(_ file: FileTransfer) async throws(SessionError) {
        guard file.progress.transferred < file.progress.total else { return }
        print(file.id, file.path, try await file.cancel(), file.transfer?.state ?? .accepted)
        print(word(for: try await file.outcome()))
    }

    /// The facts of a file.
    static func describe(_ file: ReceivedFile) -> String { "\(file.path) \(Hexadecimal.encode(file.digest))" }

    /// The facts of an item.
    static func describe(_ item: ReceivedUserInfo) -> String {
        "\(item.facts.pairing) \(item.facts.topic ?? "-") \(item.facts.age ?? .zero) \(item.isUrgent)"
    }
}

/// Somewhere that an app keeps things: handling the same item twice changes nothing.
actor Book {
    private var entries: [UniqueIdentifier: PropertyListDictionary] = [:]

    func add(_ entry: PropertyListDictionary, once id: UniqueIdentifier) throws { entries[id] = entry }
}
