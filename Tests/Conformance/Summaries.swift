// Short texts of what came, for logs and violations: identifiers are random and have no place there.

import PairedSession
import TandemPropertyList
import TandemWire

extension Result {
    var isSuccess: Bool { if case .success = self { true } else { false } }
}

extension Result where Failure == SessionError {
    var error: SessionError? { if case .failure(let error) = self { error } else { nil } }

    var summary: String { error.map { "\($0.code.rawValue) \($0.name ?? "-")" } ?? "success" }
}

extension Result where Success == [UInt8] {
    /// The dictionary that a reply carries.
    var dictionary: PropertyListDictionary? {
        guard case .success(let bytes) = self else { return nil }
        return try? PropertyListReader.readDictionary(bytes)
    }
}

extension DeliveredItem {
    /// The `n` of its content, or of a file's metadata; -1 without one.
    var number: Int64 {
        (content["n"] ?? content["metadata"]?.dictionaryValue?["n"])?.integerValue ?? -1
    }
}

extension ReceivedMessage {
    /// The `n` of a dictionary.
    var number: Int64? { dictionary?["n"]?.integerValue }

    /// To be kept without keeping the right to answer.
    var withoutToken: Receipt { Receipt(number: number, data: data, wantsReply: wantsReply, pairing: pairing) }
}

extension TransferOutcome {
    var summary: String {
        switch self {
        case .handled: "handled"
        case .cancelled: "cancelled"
        case .expired: "expired"
        case .superseded: "superseded"
        case .failed(let error): "failed \(error.code.rawValue) \(error.name ?? "-")"
        }
    }
}
