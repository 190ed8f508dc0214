// Facts of a daemon's answer, for people and programs: identifiers as UUIDs, digests in hexadecimal, times as dates or
// as "3 min". A missing or unknown fact prints as "-": a newer daemon may answer differently.

import TandemBase
package import TandemPropertyList

/// Reads one dictionary of an answer.
package struct Fact: Sendable, Equatable {
    package let body: PropertyListDictionary

    package init(_ body: PropertyListDictionary) { self.body = body }

    package static func list(_ value: PropertyListValue?) -> [Fact] {
        (value?.arrayValue ?? []).compactMap { $0.dictionaryValue.map(Fact.init) }
    }

    package func list(_ key: String) -> [Fact] { Self.list(body[key]) }

    package func texts(_ key: String) -> [String] {
        (body[key]?.arrayValue ?? []).compactMap { $0.stringValue.map { Printable.text($0, limit: 128) } }
    }

    /// Any scalar as text that is safe on a terminal.
    package func text(_ key: String) -> String {
        switch body[key] {
        case .string(let text): Printable.text(text, limit: 128)
        case .integer(let number): String(number)
        case .unsigned(let number): String(number)
        case .boolean(let flag): flag ? "yes" : "no"
        case .data(let bytes): Self.identifier(bytes)
        default: ""
        }
    }

    /// A sentence for people: longer than a cell of a table.
    package func sentence(_ key: String) -> String {
        body[key]?.stringValue.map { Printable.text($0, limit: 1000) } ?? ""
    }

    /// A line for each list of an answer that lacks rows (CTL-63).
    package var leftOut: [String] {
        (body["leftOut"]?.dictionaryValue ?? [:]).map { list, count in
            let name = Printable.text(list, limit: 64)
            return "\(count.integerValue ?? 0) more of '\(name)' do not fit into an answer and are not shown"
        }
    }

    /// A device's name; that of one below another secondary with the way to it, which gave the name.
    package var deviceName: String { text("name") + way }

    /// The other device of a row: its name if no other device has it, else the UUID of its pairing (CTL-72).
    package var peer: String { text("peerName").isEmpty ? text("pairing") : text("peerName") }

    /// ` (via NAME)` for a device below another secondary, which gave its name; else empty.
    package var way: String { text("via").isEmpty ? "" : " (via \(text("via")))" }

    /// The first digits of a digest: enough for eyes, the whole one is in --json.
    package func digest(_ key: String) -> String {
        guard let bytes = body[key]?.dataValue else { return text(key) }
        return Hexadecimal.encode(bytes.prefix(8))
    }

    /// Milliseconds since 1970 as a date.
    package func date(_ key: String) -> String {
        body[key]?.integerValue.map { WallTime(milliseconds: $0).description } ?? ""
    }

    /// Milliseconds as a time for people.
    package func span(_ key: String) -> String { body[key]?.integerValue.map(Self.span) ?? "" }

    package static func span(milliseconds: Int64) -> String {
        switch milliseconds {
        case ..<1000: "\(max(0, milliseconds)) ms"
        case ..<120_000: "\(milliseconds / 1000) s"
        case ..<7_200_000: "\(milliseconds / 60_000) min"
        case ..<172_800_000: "\(milliseconds / 3_600_000) h"
        default: "\(milliseconds / 86_400_000) d"
        }
    }

    /// The answer for programs: bytes that are identifiers become text.
    package static func plain(_ value: PropertyListValue) -> PropertyListValue {
        switch value {
        case .data(let bytes): .string(identifier(bytes))
        case .array(let values): .array(values.map(plain))
        case .dictionary(let pairs):
            .dictionary(PropertyListDictionary(uniqueKeysWithValues: pairs.map { ($0.key, plain($0.value)) }))
        default: value
        }
    }

    private static func identifier(_ bytes: [UInt8]) -> String {
        UniqueIdentifier(bytes: bytes)?.description ?? Hexadecimal.encode(bytes)
    }
}
