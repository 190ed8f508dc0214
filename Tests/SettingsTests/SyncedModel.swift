// The rules of the mirror without their economy, as the reference of random schedules: each side remembers every edit
// that it ever knew, and a body carries all of them.

import TandemBase
import TandemSettings

/// One side of the reference.
struct SyncedModel {
    struct Edit: Hashable {
        let side: DeviceRole
        let number: Int64
    }

    struct Entry: Equatable {
        let edit: Edit
        let value: SyncedValue
    }

    struct Body {
        let entries: [String: Entry]
        let known: Set<Edit>
    }

    let side: DeviceRole
    private(set) var entries: [String: Entry] = [:]
    private var known: Set<Edit> = []
    private var last: Int64 = 0
    private var local: [String: SyncedValue] = [:]

    init(_ side: DeviceRole) { self.side = side }

    var body: Body { Body(entries: entries, known: known) }

    /// The values that the app has after it has taken all.
    var values: [String: SyncedValue] { entries.mapValues(\.value) }

    mutating func look(at values: [String: SyncedValue]) {
        let number = last + 1
        for name in Set(local.keys).union(values.keys) where local[name] != values[name] {
            local[name] = values[name]
            guard values[name] != entries[name]?.value else { continue }
            let edit = Edit(side: side, number: number)
            entries[name] = values[name].map { Entry(edit: edit, value: $0) }
            known.insert(edit)
            last = number
        }
    }

    mutating func merge(_ body: Body) {
        for name in Set(entries.keys).union(body.entries.keys) {
            entries[name] = chosen(entries[name], body.entries[name], body)
        }
        known.formUnion(body.known)
        local = values
    }

    private func chosen(_ ours: Entry?, _ theirs: Entry?, _ body: Body) -> Entry? {
        let isOursKnown = ours.map { body.known.contains($0.edit) } ?? false
        let isTheirsKnown = theirs.map { known.contains($0.edit) } ?? false
        guard let ours, let theirs else { return isOursKnown || isTheirsKnown ? nil : ours ?? theirs }
        if ours.edit == theirs.edit || isTheirsKnown && !isOursKnown { return ours }
        // An older body has what this side has replaced.
        if isOursKnown { return isTheirsKnown ? ours : theirs }
        return side == .primary ? ours : theirs
    }
}

extension SyncReport {
    var isEmpty: Bool { conflicts.isEmpty && full.isEmpty }
}
