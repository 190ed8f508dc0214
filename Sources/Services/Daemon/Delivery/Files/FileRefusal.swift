// Reasons for which a file is not taken, here or by the peer, as one closed list with one number and one name each.
// ``FileSpace`` and ``FileBudget`` find those that a lack of space causes.

import TandemBase
import TandemDelivery
package import TandemFiles
package import TandemPropertyList
package import TandemWire

/// A file that cannot be taken.
package enum FileRefusal: Error, Sendable, Equatable {
    /// The body of `submit` or the manifest does not read.
    case unreadable(WireError)
    case tooLarge(actual: Int, limit: Int)
    /// So many files of this app wait for their turn.
    case queueFull(actual: Int, limit: Int)
    /// The descriptions of this user's files take so much memory.
    case overDescribed(actual: Int, limit: Int)
    /// Files of so many bytes are kept for the same user or the same peer.
    case overBudget(actual: Int64, limit: Int64)
    /// The file system has less free space than is needed; `besides` of those bytes are the reserve and other files'.
    case noSpace(needed: Int64, available: Int64, besides: Int64)
    /// The whole file system has less space, without what is kept for root.
    case neverFits(needed: Int64, capacity: Int64)
    /// Another item of this identifier, with another file, waits for its handler.
    case duplicate
    /// The bytes that arrived are not those that were sent.
    case digestMismatch
    case machine(FileError)
    /// Another connection of the app hands over the same file.
    case takenOver
    /// Another connection of the app took the file back.
    case cancelled

    package var code: SessionError.Code {
        switch self {
        case .unreadable, .duplicate: .invalidParameter
        case .tooLarge: .payloadTooLarge
        case .queueFull, .overDescribed, .overBudget, .takenOver, .cancelled: .genericError
        case .machine(let error) where error.isExhaustion: .genericError
        case .noSpace, .neverFits, .machine(.full): .insufficientSpace
        case .digestMismatch, .machine: .deliveryFailed
        }
    }

    package var name: String { errorName.rawValue }

    private var errorName: ErrorName {
        switch self {
        case .unreadable: .malformed
        case .tooLarge: .tooLarge
        case .queueFull, .overDescribed, .overBudget: .queueFull
        // The name for which no sender counts an attempt (DEL-12).
        case .machine(let error) where error.isExhaustion: .queueFull
        case .noSpace, .neverFits, .machine(.full): .insufficientSpace
        case .digestMismatch: .digestMismatch
        case .duplicate: .duplicateID
        case .machine: .fileError
        case .takenOver: .takenOver
        case .cancelled: .cancelled
        }
    }

    /// The body of `failure`; it never names a path of this machine.
    package var body: PropertyListDictionary {
        PropertyListDictionary(present: [
            BodyKey.text: .string(text), BodyKey.retry: .boolean(isRetryable),
            BodyKey.actual: amounts.map { .integer($0.actual) }, BodyKey.limit: amounts.map { .integer($0.limit) },
        ])
    }

    /// The line of the receiver's log, with the amounts and by the names of the answer to the peer (FIL-13). An error
    /// of the machine is named in full: the log is this device's own.
    func event(of file: FileKey) -> LogEvent {
        let reason = if case .machine(let error) = self { "\(error)" } else { text }
        let event = LogEvent.files("a file is not taken: \(name)", file, reason)
        guard let amounts else { return event }
        let numbers: [LogField] = [.integer("actual", amounts.actual), .integer("limit", amounts.limit)]
        return LogEvent(event.level, event.message, fields: event.fields + numbers)
    }

    /// The bytes or the number that would be needed, or are kept already, and the bound.
    private var amounts: (actual: Int64, limit: Int64)? {
        switch self {
        case .noSpace(let actual, let limit, _), .neverFits(let actual, let limit), .overBudget(let actual, let limit):
            (actual, limit)
        case .tooLarge(let actual, let limit), .queueFull(let actual, let limit), .overDescribed(let actual, let limit):
            (Int64(actual), Int64(limit))
        case .unreadable, .duplicate, .digestMismatch, .machine, .takenOver, .cancelled: nil
        }
    }

    private var isRetryable: Bool {
        switch self {
        case .noSpace, .machine, .digestMismatch, .queueFull, .overDescribed, .overBudget: true
        case .unreadable, .duplicate, .tooLarge, .neverFits, .takenOver, .cancelled: false
        }
    }

    private static func size(_ bytes: Int64) -> String {
        bytes > 0 && bytes & 0xF_FFFF == 0 ? "\(bytes >> 20) MiB" : "\(bytes) bytes"
    }

    private var text: String {
        switch self {
        case .unreadable(let error): "the description of the file: \(error)"
        case .tooLarge(let actual, let limit): "name and metadata take \(actual) bytes of \(limit)"
        case .queueFull(let actual, let limit): "\(actual) files of \(limit) wait for their turn"
        case .overDescribed(let actual, let limit):
            "the descriptions of this user's waiting files would take \(actual) bytes; the limit is \(limit)"
        case .overBudget(let actual, let limit): "files of \(actual) bytes wait already; the limit is \(limit)"
        case .noSpace(let needed, let available, let besides):
            "\(needed - besides) bytes more, and \(Self.size(besides)) for the reserve and other files, do not fit into "
                + "the \(available) bytes that are free on the disk; free some space and try again"
        case .neverFits: "the file and the reserve together need more bytes than the whole file system has"
        case .machine(.full): "no space is left for the file"
        case .machine(let error) where error.isExhaustion: "the device has no free descriptor or memory for the file"
        case .duplicate: "another file of this identifier waits for its handler"
        case .digestMismatch: "the bytes that arrived are not those that were sent"
        case .machine: "the device cannot write the file"
        case .takenOver: "another connection of the app hands over the same file"
        case .cancelled: "another connection of the app took the file back"
        }
    }
}

func translating<Value>(_ body: () throws(FileError) -> Value) throws(FileRefusal) -> Value {
    do throws(FileError) { return try body() } catch { throw .machine(error) }
}

extension Result where Failure == FileError {
    var failure: FileError? { if case .failure(let error) = self { error } else { nil } }
}
