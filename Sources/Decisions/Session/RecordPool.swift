// Records by number in one array, and linked chains of them. A removed record's number is reused by the next insertion,
// so that a steady flow of records allocates nothing. A chain is a list of links between numbers.

protocol ChainedRecord: Sendable {
    associatedtype Links: RawRepresentable<Int>
    /// Its neighbours, for each chain that it can stand in.
    var links: InlineArray<3, ChainLink> { get set }
}

/// The neighbours of a record in a chain.
struct ChainLink: Sendable {
    fileprivate(set) var previous: Int32 = -1
    fileprivate(set) var next: Int32 = -1
}

/// The ends of a chain of records.
struct Chain: Sendable {
    fileprivate(set) var first: Int32 = -1
    fileprivate(set) var last: Int32 = -1

    var head: Int? { first < 0 ? nil : Int(first) }
}

struct RecordPool<Record: Sendable>: ~Copyable, Sendable {
    private var records: [Record] = []
    private var free: [Int32] = []

    var count: Int { records.count - free.count }

    /// The records that fit without growing.
    var capacity: Int { records.count }

    subscript(number: Int) -> Record {
        get { records[number] }
        _modify { yield &records[number] }
    }

    mutating func insert(_ record: Record) -> Int {
        guard let number = free.popLast() else {
            records.append(record)
            return records.count - 1
        }
        records[Int(number)] = record
        return Int(number)
    }

    /// Removes a record that stands in no chain. Its number may be reused at once.
    mutating func remove(_ number: Int) { free.append(Int32(truncatingIfNeeded: number)) }
}

extension RecordPool where Record: ChainedRecord {
    func next(_ number: Int, _ links: Record.Links) -> Int? {
        let next = records[number].links[links.rawValue].next
        return next < 0 ? nil : Int(next)
    }

    mutating func append(_ number: Int, to chain: inout Chain, _ links: Record.Links) {
        let own = Int32(truncatingIfNeeded: number)
        records[number].links[links.rawValue] = ChainLink(previous: chain.last, next: -1)
        if chain.last < 0 { chain.first = own } else { records[Int(chain.last)].links[links.rawValue].next = own }
        chain.last = own
    }

    /// Takes a record out of the chain that it stands in.
    mutating func remove(_ number: Int, from chain: inout Chain, _ links: Record.Links) {
        let link = records[number].links[links.rawValue]
        if link.previous < 0 {
            chain.first = link.next
        } else {
            records[Int(link.previous)].links[links.rawValue].next = link.next
        }
        if link.next < 0 {
            chain.last = link.previous
        } else {
            records[Int(link.next)].links[links.rawValue].previous = link.previous
        }
    }
}
