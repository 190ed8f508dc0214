// A writing of a property list that our writer never takes, and that every reader must understand (FRM-6).

extension Bytes {
    /// The same property list with offsets of so many bytes; no fewer than it has.
    package static func widened(_ list: [UInt8], offsetSize: Int) -> [UInt8] {
        let trailer = list.count - 32
        let size = Int(list[trailer + 6])
        let count = list[(trailer + 8)..<(trailer + 16)].reduce(0) { $0 << 8 | Int($1) }
        let table = trailer - count * size
        var wide = Array(list[..<table])
        for entry in stride(from: table, to: trailer, by: size) {
            wide += [UInt8](repeating: 0, count: offsetSize - size) + list[entry..<(entry + size)]
        }
        wide += list[trailer...]
        wide[wide.count - 32 + 6] = UInt8(offsetSize)
        return wide
    }
}
