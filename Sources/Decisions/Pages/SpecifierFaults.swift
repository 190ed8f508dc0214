// Faults of one entry of a page: what a report at start says about it. None of them keeps the entry from its page.

import TandemBase
import TandemPropertyList
import TandemSettings

extension Specifier {
    /// The keys that a type cannot be without.
    private var needed: [SpecifierKey] {
        switch kind {
        case .toggle, .slider, .textField, .textView, .titleValue, .multiValue, .radioGroup, .datePicker, .custom,
            .button:
            [.key]
        case .listGroup: [.key, .item]
        case .openURL: [.file]
        case .childPane: isOutside ? [] : [.file]
        case .group, .mailCompose, nil: []
        }
    }

    /// Whether the entry opens something that no page is.
    private var isOutside: Bool { SpecifierKey.allCases.contains { self[$0] != nil && $0.unsupported != nil } }

    /// The faults of the entry, and of those within a list group.
    var faults: [SpecifierFault] {
        var faults: [SpecifierFault] = kind != nil || self[.type] == nil ? [] : [.unknownType(typeName)]
        for (name, value) in entries {
            guard let key = SpecifierKey(word: name) else {
                faults.append(.unknownKey(name))
                continue
            }
            if !key.form.isForm(of: value) { faults.append(.malformedKey(name)) }
        }
        faults += ([.type] + needed).filter { self[$0] == nil }.map { .missingKey($0.rawValue) }
        let count = self[.values]?.arrayValue?.count
        for key in [SpecifierKey.titles, .shortTitles, .icons] where self[key] != nil && count != nil {
            if texts(key).count != count { faults.append(.unequalLists(key.rawValue)) }
        }
        faults += repetitions.map { .repeatedValue($0.rawValue) }
        if kind == .slider, hasReversedBounds { faults.append(.reversedBounds) }
        for key in SpecifierKey.allCases where key.unsupported != nil && self[key] != nil && flag(key) != false {
            faults.append(.unsupported(key.rawValue))
        }
        return faults + itemEntries.flatMap(\.itemFaults)
    }

    /// The keys with a value that has another meaning already.
    private var repetitions: [SpecifierKey] {
        let values = self[.values]?.arrayValue ?? []
        let indices = ValueIndices(values)
        var keys: [SpecifierKey] = []
        if values.enumerated().contains(where: { indices.index(of: $1) != $0 }) { keys.append(.values) }
        if kind == .toggle, hasEqualToggleValues { keys.append(.falseValue) }
        return keys
    }

    /// Faults of the entry as an item: its key is that of a dictionary, and may be absent.
    private var itemFaults: [SpecifierFault] { faults.filter { $0 != .missingKey(SpecifierKey.key.rawValue) } }
}
