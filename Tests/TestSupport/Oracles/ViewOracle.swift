// Invariants of a view of any bytes: a lookup in place finds the tree's value, and bytes that have no tree have no
// view, for the same reason.

import TandemPropertyList

/// A lazy view held against the tree.
enum ViewOracle {
    /// How many values are looked into: enough for any structure, few enough for many inputs a second.
    private static let budget = 300

    static func fault(in bytes: [UInt8], _ value: PropertyListValue) throws(PropertyListError) -> String? {
        let view = try PropertyListView(bytes)
        guard view.value == value else { return "a view of another tree" }
        var left = budget
        return difference(view, value, &left)
    }

    /// The fault for which there is no view.
    static func refusal(of bytes: [UInt8]) -> PropertyListError? {
        do { _ = try PropertyListView(bytes) } catch { return error }
        return nil
    }

    private static func difference(_ view: PropertyListView, _ value: PropertyListValue, _ left: inout Int) -> String? {
        guard left > 0 else { return nil }
        left -= 1
        switch value {
        case .array(let elements):
            guard view.isArray, !view.isDictionary, view.count == elements.count, view[elements.count] == nil else {
                return "an array seen otherwise"
            }
            for (index, element) in elements.enumerated() where left > 0 {
                guard let child = view[index] else { return "no element \(index)" }
                if let found = difference(child, element, &left) { return found }
            }
            return part(view, value, &left)
        case .dictionary(let pairs):
            return difference(view, pairs, &left) ?? part(view, value, &left)
        default:
            return isScalar(view, value) ? nil : "a scalar seen otherwise"
        }
    }

    private static func difference(_ view: PropertyListView, _ pairs: PropertyListDictionary, _ left: inout Int)
        -> String?
    {
        guard view.isDictionary, !view.isArray, view.count == pairs.count, view.key(at: pairs.count) == nil else {
            return "a dictionary seen otherwise"
        }
        for position in 0..<pairs.count where left > 0 {
            guard let key = view.key(at: position), let element = pairs[key] else { return "a key of its own" }
            guard let child = view[position], let same = view[key] else { return "no value for a key" }
            if let found = difference(child, element, &left) ?? difference(same, element, &left) { return found }
            let near = [key + "a", String(key.dropLast()), key.uppercased()]
            for key in near where (view[key] == nil) != (pairs[key] == nil) { return "a key that is not there" }
        }
        return nil
    }

    /// The tree of a part alone; it costs as much as the whole, so seldom.
    private static func part(_ view: PropertyListView, _ value: PropertyListValue, _ left: inout Int) -> String? {
        guard left % 8 == 0 else { return nil }
        return view.value == value ? nil : "a part of another tree"
    }

    /// Every typed look at a scalar gives it or nothing.
    private static func isScalar(_ view: PropertyListView, _ value: PropertyListValue) -> Bool {
        view.booleanValue == value.booleanValue && view.integerValue == value.integerValue
            && view.unsignedValue == value.unsignedValue && view.realValue == value.realValue
            && view.dateValue == value.dateValue && view.dataBytes.map(Array.init) == value.dataValue
            && view.stringValue.map { Array($0.utf8) } == value.stringValue.map { Array($0.utf8) }
            && view.count == 0 && !view.isArray && !view.isDictionary && view.value == value
    }
}
