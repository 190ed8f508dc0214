// `send --file`: gives a file to the counterpart and shows how far it is. It returns when the other device has it; one
// that is away gets it later, from the daemon, which has its own copy.

import PairedSession
import TandemBase
import TandemPropertyList
import TandemWire

/// One file to send.
struct SendFile {
    static let options: [Option] = [
        .valued(
            "file", "PATH", "send a file; ends when the other device has it (see --wait)"),
        .valued("metadata", "JSON", "what goes with the file"),
    ]

    let path: String
    let metadata: PropertyListDictionary?
    let level: AcknowledgementLevel
    let options: TransferOptions

    /// Nil if the arguments mean no file.
    init?(_ arguments: Arguments) throws(CommandFailure) {
        guard let path = arguments.value("file") else {
            guard !arguments.has("metadata") else { throw .usage("--metadata goes with --file") }
            return nil
        }
        guard arguments.operands.isEmpty else { throw .usage("--file and a message do not go together") }
        for odd in ["all", "queue", "urgent", "no-reply"] where arguments.has(odd) {
            throw .usage("--\(odd) does not go with --file: a file is always queued, for one device")
        }
        let word = arguments.value("wait") ?? "stored"
        guard let level = QueuedSend.levels[word] else {
            throw .usage("--wait '\(word)' is none of accepted, stored, handled")
        }
        self.path = path
        self.level = level
        options = try QueuedSend.options(arguments)
        metadata = try arguments.value("metadata").map { (text) throws(CommandFailure) in
            try MessageText.dictionary(text)
        }
    }

    func run(_ session: PairedSession, _ console: Console) async throws {
        let bar = ProgressBar(label: path.split(separator: "/").last.map(String.init) ?? path)
        let transfer = session.beginFileTransfer(path, metadata: metadata, options: options)
        let drawing = Task {  // owned by this command: ends with the transfer, or is cancelled below
            for await progress in transfer.progressUpdates { bar.draw(progress) }
        }
        defer { drawing.cancel() }
        do {
            try await transfer.reached(level)
        } catch {
            bar.clear()
            throw error
        }
        bar.clear()
        console.print(json: .dictionary(result(transfer, bar.elapsed)))
    }

    private func result(_ transfer: FileTransfer, _ elapsed: Duration) -> PropertyListDictionary {
        [
            "id": .string("\(transfer.id)"), "size": .integer(transfer.progress.total),
            "state": .string("\(level)"),
            "milliseconds": .integer(elapsed.saturatingMilliseconds),
        ]
    }
}
