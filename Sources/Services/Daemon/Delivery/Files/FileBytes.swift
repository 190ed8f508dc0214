// The bytes of files that are kept for somebody, counted as they come and go: a sum for each owner, so that nobody looks at
// all files to know whether there is room (LIM-43). One file has room whatever its size: that is the disk's to say.

import TandemBase
import TandemDelivery
import TandemWire

/// Who hands files over: a user of this device, or an app whose user is not known.
enum SpoolOwner: Hashable {
    case user(UInt32)
    case app(ApplicationIdentifier)
}

/// Bytes of files by their owners.
struct FileBytes<Owner: Hashable> {
    private var files: [FileKey: (owner: Owner, size: Int64)] = [:]
    private var sums: [Owner: Int64] = [:]

    /// Counts a file; a second time with another size.
    mutating func set(_ file: FileKey, of owner: Owner, size: Int64) {
        remove(file)
        files[file] = (owner, size)
        sums[owner, default: 0] += size
    }

    mutating func remove(_ file: FileKey) {
        guard let (owner, size) = files.removeValue(forKey: file), let sum = sums[owner] else { return }
        sums[owner] = sum > size ? sum - size : nil
    }

    mutating func removeAll(where isGone: (FileKey) -> Bool) {
        for file in files.keys.filter(isGone) { remove(file) }
    }

    /// Why a file has no room beside its owner's others; nil if it has.
    func refusal(of file: FileKey, of owner: Owner, size: Int64, limit: Int64) -> FileRefusal? {
        let others = (sums[owner] ?? 0) - (files[file].map { $0.owner == owner ? $0.size : 0 } ?? 0)
        return others > 0 && size > limit - others ? .overBudget(actual: others, limit: limit) : nil
    }
}
