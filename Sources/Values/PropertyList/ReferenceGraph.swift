// The second pass: who refers to whom (FRM-6 d, k, m, n). Containers are visited once, parents before children, carrying
// depth and multiplicity forward; so depth, cycles and the size after expansion need no stack and no expansion. Nearly
// every writer numbers parents before children; only when one does not are the containers put into such an order.

struct ReferenceGraph {
    private let scan: ObjectScan
    private let limits: PropertyListLimits

    /// Parents before children.
    private(set) var order: [Container]
    var table: ObjectTable { scan.table }
    /// References looked at: the work done.
    private(set) var visits = 0
    /// Values and keys, each counted as often as it is referenced.
    private(set) var expandedValues = 1
    /// Some object is referred to twice; nearly all the work for rule n is done only then.
    private var isShared = false

    init(_ scan: ObjectScan, in bytes: ByteView, limits: PropertyListLimits) throws(PropertyListError) {
        self.scan = scan
        self.limits = limits
        order = scan.containers
        if try hasBackwardReference(in: bytes) { order = try parentsFirst(in: bytes) }
        try measure(in: bytes)
    }

    /// Checks each reference, and that each object but the top one has one.
    /// - Returns: whether some container refers to a container that is not behind it.
    private mutating func hasBackwardReference(in bytes: ByteView) throws(PropertyListError) -> Bool {
        var isReferenced = Array(repeating: false, count: scan.table.count)
        isReferenced[scan.table.top] = true
        var isBackward = false
        for container in scan.containers {
            for index in 0..<container.references {
                let claimed = container.claimedReference(index, in: bytes, table: scan.table)
                guard claimed < UInt64(scan.table.count) else { throw fault(.referenceOutOfRange(claimed), container) }
                let child = Int(claimed)
                isReferenced[child] = true
                if scan.isContainer[child], child <= container.object { isBackward = true }
            }
            visits += container.references
        }
        isShared = visits >= scan.table.count
        if let object = isReferenced.firstIndex(of: false) {
            let place = PropertyListError.Place.object(object, byte: scan.table.offset(of: object, in: bytes))
            throw PropertyListError(.unreferencedObject, at: place)
        }
        return isBackward
    }

    /// Containers in an order in which each comes after all that refer to it; there is none if there is a cycle.
    private mutating func parentsFirst(in bytes: ByteView) throws(PropertyListError) -> [Container] {
        var number = Array(repeating: 0, count: scan.table.count)
        for (index, container) in scan.containers.enumerated() { number[container.object] = index }
        var waiting = Array(repeating: 0, count: scan.containers.count)
        for container in scan.containers { forEachChild(of: container, in: bytes) { waiting[number[$0]] += 1 } }
        var sorted: [Container] = []
        if scan.isContainer[scan.table.top], waiting[number[scan.table.top]] == 0 {
            sorted.append(scan.containers[number[scan.table.top]])
        }
        var next = 0
        while next < sorted.count {
            forEachChild(of: sorted[next], in: bytes) { child in
                waiting[number[child]] -= 1
                if waiting[number[child]] == 0 { sorted.append(scan.containers[number[child]]) }
            }
            next += 1
        }
        visits += 2 * visits
        if let index = waiting.firstIndex(where: { $0 > 0 }) { throw fault(.cycle, scan.containers[index]) }
        return sorted
    }

    private func forEachChild(
        of container: Container, in bytes: ByteView, orScalar takesScalars: Bool = false, _ body: (Int) -> Void
    ) {
        for index in 0..<container.references {
            let child = container.reference(index, in: bytes, table: scan.table)
            if takesScalars || scan.isContainer[child] { body(child) }
        }
    }

    private mutating func measure(in bytes: ByteView) throws(PropertyListError) {
        var depth = Array(repeating: 0, count: scan.table.count)
        var copies = Array(repeating: 0, count: scan.table.count)
        (depth[scan.table.top], copies[scan.table.top]) = (1, 1)
        for container in order where container.references > 0 {
            let (level, times) = (depth[container.object] + 1, copies[container.object])
            guard level <= limits.depth else { throw fault(.tooDeep(limit: limits.depth), container) }
            // Neither factor is above the limit on values or the references that are really there.
            let (added, overflow) = times.multipliedReportingOverflow(by: container.references)
            guard !overflow, added <= limits.values - expandedValues else {
                throw fault(.tooManyValues(limit: limits.values), container)
            }
            expandedValues += added
            forEachChild(of: container, in: bytes, orScalar: isShared) { child in
                depth[child] = max(depth[child], level)
                copies[child] += times
            }
            visits += container.references
        }
        if isShared { try checkRepetitions(copies, in: bytes) }
    }

    /// A large object that thousands refer to is small on the wire and large for whoever builds what it means.
    private func checkRepetitions(_ copies: [Int], in bytes: ByteView) throws(PropertyListError) {
        var left = limits.repeatedBytes
        for object in copies.indices where copies[object] > 1 {
            let (begin, next) = (scan.table.offset(of: object, in: bytes), object + 1)
            let end = next < copies.count ? scan.table.offset(of: next, in: bytes) : scan.table.start
            let (added, overflow) = (copies[object] - 1).multipliedReportingOverflow(by: end - begin)
            guard !overflow, added <= left else {
                throw PropertyListError(
                    .tooManyRepeatedBytes(limit: limits.repeatedBytes), at: .object(object, byte: begin))
            }
            left -= added
        }
    }

    private func fault(_ reason: PropertyListError.Reason, _ container: Container) -> PropertyListError {
        PropertyListError(reason, at: .object(container.object, byte: container.offset))
    }
}
