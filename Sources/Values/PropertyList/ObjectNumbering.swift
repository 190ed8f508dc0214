// The first half of writing (FRM-7): which objects there will be and in which order. A breadth-first walk numbers them
// as it meets them, equal scalars once, containers each on their own; the queue of the walk is the object table
// itself, so there is no recursion. Whatever the profile forbids is refused here, with its key path.

struct ObjectNumbering {
    /// The objects in their order; the first is the root.
    private(set) var objects: [PropertyListValue] = []
    /// For each object, what its references begin with in ``references``; nothing for scalars.
    private(set) var firstReference: [Int] = []
    private(set) var references: [Int] = []

    private let limits: PropertyListLimits
    private var numbers: [ScalarKey: Int] = [:]
    private var origins: [Origin] = []

    /// Where an object was first met: its parent, the place in it, its depth.
    private struct Origin {
        let parent: Int
        let place: Int
        let depth: Int
    }

    init(_ root: PropertyListValue, limits: PropertyListLimits) throws(PropertyListError) {
        self.limits = limits
        _ = try number(root, Origin(parent: -1, place: 0, depth: 1))
        var next = 0
        while next < objects.count {
            firstReference.append(references.count)
            try numberChildren(of: next)
            next += 1
        }
    }

    private mutating func numberChildren(of parent: Int) throws(PropertyListError) {
        let depth = origins[parent].depth + 1
        switch objects[parent] {
        case .array(let elements):
            for (place, element) in elements.enumerated() {
                try refer(to: element, Origin(parent: parent, place: place, depth: depth))
            }
        case .dictionary(let pairs):
            for (place, pair) in pairs.enumerated() {
                if let fault = Self.keyFault(pair.key) { throw PropertyListError(fault, at: .path(path(of: parent))) }
                try refer(to: .string(pair.key), Origin(parent: parent, place: place, depth: depth))
            }
            for (place, pair) in pairs.enumerated() {
                try refer(to: pair.value, Origin(parent: parent, place: place, depth: depth))
            }
        default: break
        }
    }

    private mutating func refer(to value: PropertyListValue, _ origin: Origin) throws(PropertyListError) {
        references.append(try number(value, origin))
        guard references.count < limits.values else { throw fault(.tooManyValues(limit: limits.values), origin) }
    }

    private mutating func number(_ value: PropertyListValue, _ origin: Origin) throws(PropertyListError) -> Int {
        guard origin.depth <= limits.depth else { throw fault(.tooDeep(limit: limits.depth), origin) }
        let key = ScalarKey(value)
        if let key, let number = numbers[key] { return number }
        if let reason = Self.fault(value) { throw fault(reason, origin) }
        guard objects.count < limits.objects else {
            throw fault(.tooManyObjects(count: UInt64(objects.count) + 1, limit: limits.objects), origin)
        }
        if let key { numbers[key] = objects.count }
        objects.append(value)
        origins.append(origin)
        return objects.count - 1
    }

    private static func keyFault(_ key: String) -> PropertyListError.Reason? {
        let length = key.utf8.count
        guard (1...PropertyListLimits.maximumKeyLength).contains(length) else { return .invalidKeyLength(length) }
        return key.utf8.contains(0) ? .keyContainsNull : nil
    }

    private static func fault(_ value: PropertyListValue) -> PropertyListError.Reason? {
        switch value {
        case .real(let number) where !number.isFinite: .notFinite
        case .date(let date) where !PropertyListDate.representable.contains(date.millisecondsSinceReferenceDate):
            .dateOutOfRange
        default: nil
        }
    }

    private func fault(_ reason: PropertyListError.Reason, _ origin: Origin) -> PropertyListError {
        PropertyListError(reason, at: .path(path(origin)))
    }
}

extension ObjectNumbering {
    private func path(of object: Int) -> String { path(origins[object]) }

    /// The key path of what was met there, such as `a.b[2]`.
    private func path(_ origin: Origin) -> String {
        var steps: [String] = []
        var origin = origin
        while origin.parent >= 0 {
            switch objects[origin.parent] {
            case .dictionary(let pairs): steps.append("." + pairs[origin.place].key)
            default: steps.append("[\(origin.place)]")
            }
            origin = origins[origin.parent]
        }
        let path = steps.reversed().joined()
        return path.hasPrefix(".") ? String(path.dropFirst()) : path
    }
}
