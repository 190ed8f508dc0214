// FRM-8 to FRM-10 by Protocol's own tables and the reference reader: the envelopes that are allowed, without any of the
// code that decides it.

package import TandemPropertyList

/// A second check of envelopes.
package enum ReferenceEnvelope {
    /// The pairs of an envelope without `sealing`, which says nothing in version 1; nil if a rule is broken.
    package static func pairs(_ payload: [UInt8]) -> PropertyListDictionary? {
        guard case .dictionary(var pairs)? = ReferenceReader.value(payload),
            let kind = pairs["kind"]?.stringValue, let row = FrameTables.kinds[Array(kind.utf8)]
        else { return nil }
        guard pairs.count(where: { $0.key.utf8.starts(with: "x-".utf8) }) <= 64 else { return nil }
        let listed = row.required + row.optional
        let allowed = listed + (listed.contains("body") ? ["kind", "sealing"] : ["kind"])
        for pair in pairs {
            let isListed = allowed.contains { $0.utf8.elementsEqual(pair.key.utf8) }
            guard isListed ? holds(pair.key, pair.value) : isExtension(pair.key, pair.value) else { return nil }
        }
        guard row.required.allSatisfy({ pairs[$0] != nil }) else { return nil }
        pairs["sealing"] = nil
        return pairs
    }

    private static func isExtension(_ key: String, _ value: PropertyListValue) -> Bool {
        guard key.utf8.starts(with: "x-".utf8) else { return false }
        return switch value {
        case .boolean, .integer, .unsigned, .string, .data: true
        default: false
        }
    }

    /// The type and range of FRM-8.
    private static func holds(_ key: String, _ value: PropertyListValue) -> Bool {
        switch (key, FrameTables.rules[key]) {
        case ("app", _): value.stringValue.map(isApplication) ?? false
        case ("channel", _):
            value.stringValue.map { word in
                FrameTables.channels.contains { $0.utf8.elementsEqual(word.utf8) }
            } ?? false
        case ("sealing", _): value.integerValue == 0
        case (_, .text(let sizes)?):
            value.stringValue.map { text in
                sizes.map { $0.contains(text.utf8.count) && !text.utf8.contains(0) } ?? true
            } ?? false
        case (_, .word(let most)?): value.stringValue.map { $0.utf8.count <= most } ?? false
        case (_, .boolean?): value.booleanValue != nil
        case (_, .data(let count)?): value.dataValue.map { count == nil || count == $0.count } ?? false
        case (_, .integer(let range)?): value.integerValue.map(range.contains) ?? false
        case (_, nil): false
        }
    }

    private static func isApplication(_ text: String) -> Bool {
        let alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-".utf8
        return (1...128).contains(text.utf8.count) && text.utf8.first != UInt8(ascii: ".")
            && text.utf8.allSatisfy(alphabet.contains)
    }
}
