// Possible contents of a disk after the power failed between two operations of a trace: everything up to the last sync
// of each file, and any part of the later writes, the last one perhaps torn.

import TandemTestSupport

extension FileOperation {
    /// A disk keeps any part of a long write: what is asked for at once need not survive at once.
    var parts: [FileOperation] {
        guard case .write(let isLog, let offset, let bytes) = self else { return [self] }
        return stride(from: 0, to: bytes.count, by: 4096).map { start in
            .write(isLog: isLog, offset: offset + start, bytes: Array(bytes[start..<min(start + 4096, bytes.count)]))
        }
    }
}

/// A store's two files as a trace leaves them.
struct DiskImage {
    /// One file: what is durable, and what was asked for since.
    private struct Half {
        var durable: [UInt8] = []
        var pending: [FileOperation] = []

        static func apply(_ operation: FileOperation, to bytes: inout [UInt8], cut: Int? = nil) {
            switch operation {
            case .write(_, let offset, let written):
                let part = written.prefix(cut ?? written.count)
                if bytes.count < offset + part.count {
                    bytes += Array(repeating: 0, count: offset + part.count - bytes.count)
                }
                bytes.replaceSubrange(offset..<offset + part.count, with: part)
            case .truncate(_, let size): bytes = Array(bytes.prefix(size))
            case .sync: break
            }
        }
    }

    /// How much of what was not synchronised is on the disk.
    enum Survival: CaseIterable { case nothing, everything, some }

    private var file = Half()
    private var log = Half()

    init(file: [UInt8]) { self.file.durable = file }

    mutating func run(_ operation: FileOperation) {
        switch operation {
        case .write(let isLog, _, _), .truncate(let isLog, _):
            if isLog { log.pending.append(operation) } else { file.pending.append(operation) }
        case .sync(let isLog): if isLog { Self.settle(&log) } else { Self.settle(&file) }
        }
    }

    /// The contents that a process reads while the power is on.
    var cached: (file: [UInt8], log: [UInt8]) {
        var generator = SeededGenerator(seed: 0)
        return afterPowerLoss(.everything, using: &generator)
    }

    /// Whether the log has writes that no sync has covered.
    var isLogPending: Bool { !log.pending.isEmpty }

    /// A sync of the log fails: its writes are still read, but the kernel takes them for done and writes them never.
    mutating func failLogSync() { log.pending = [] }

    private static func settle(_ half: inout Half) {
        for operation in half.pending { Half.apply(operation, to: &half.durable) }
        half.pending = []
    }

    /// The contents after the power failed now.
    func afterPowerLoss(
        _ survival: Survival, using generator: inout SeededGenerator
    ) -> (file: [UInt8], log: [UInt8]) {
        (surviving(file, survival, &generator), surviving(log, survival, &generator))
    }

    private func surviving(
        _ half: Half, _ survival: Survival, _ generator: inout SeededGenerator
    ) -> [UInt8] {
        var bytes = half.durable
        for operation in half.pending.flatMap(\.parts) {
            switch survival {
            case .nothing: break
            case .everything: Half.apply(operation, to: &bytes)
            case .some:
                guard Bool.random(using: &generator) else { continue }
                let cut =
                    Int.random(in: 0..<4, using: &generator) == 0 ? Int.random(in: 0...4096, using: &generator) : nil
                Half.apply(operation, to: &bytes, cut: cut)
            }
        }
        return bytes
    }
}
