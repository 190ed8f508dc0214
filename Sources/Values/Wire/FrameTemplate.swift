// Frames of one kind about the items of one queue differ in sixteen bytes: the item's identifier. A template is such a
// frame and the offset of these bytes, so that the next one is a copy and nothing is encoded. Only frames in which an
// identifier can equal no other value but the pairing's have one: equal values are written once (FRM-7).

import TandemBase

/// A frame about an item whose identifier may be exchanged.
struct FrameTemplate: Sendable {
    private let frame: Frame
    private let pairing: UniqueIdentifier
    /// Where the identifier's bytes begin in the payload.
    private let offset: Int

    /// - Parameter frame: the envelope's; nil if it is not plain, or has a value that another identifier may equal.
    init?(_ frame: Frame, of envelope: Envelope) {
        guard let pairing: UniqueIdentifier = envelope[.pairing], let number = envelope.position(ofExchangeable: .id),
            let offset = frame.withPayload({ $0.plainValue(number) })
        else { return nil }
        self.frame = frame
        self.pairing = pairing
        // Marker and count come before the bytes.
        self.offset = offset + 3
    }

    /// The frame of another item; nil if its identifier is the pairing's.
    func frame(of id: UniqueIdentifier) -> Frame? {
        guard id != pairing else { return nil }
        let count = frame.count - Frame.headerCount
        return unsafe try? Frame(payloadCount: count, limit: count) { room in
            frame.withPayload { payload in
                unsafe payload.withUnsafeBytes { unsafe room.copyMemory(from: $0) }
            }
            unsafe room.storeBytes(of: id.high.bigEndian, toByteOffset: offset, as: UInt64.self)
            unsafe room.storeBytes(of: id.low.bigEndian, toByteOffset: offset + 8, as: UInt64.self)
        }
    }
}

extension RawSpan {
    /// Where a value of a plain payload is; nil for another payload.
    fileprivate func plainValue(_ number: Int) -> Int? {
        guard let frame = PlainFrame(self) else { return nil }
        return frame.offset(at: frame.entry(of: 1 + frame.pairs + number), in: self)
    }
}

/// The frames that an app gets about each of its items, of the queue that was named last.
package struct ItemFrames: Sendable {
    private enum Kind: Int, CaseIterable { case accepted, stored, handled }

    private var queue: QueueKey?
    private var templates = [FrameTemplate?](repeating: nil, count: Kind.allCases.count)

    package init() {}

    /// The `accepted` of an item without a note.
    package mutating func accepted(_ item: ItemKey) throws(WireError) -> Frame {
        try frame(.accepted, of: item) { AcceptedFrame(item).envelope }
    }

    /// The `progress` of an item that is stored at the counterpart's device.
    package mutating func stored(_ item: ItemKey) throws(WireError) -> Frame {
        try frame(.stored, of: item) { () throws(WireError) in try ProgressFrame(item, .stored).envelope }
    }

    /// The `finished` of an item that was handled.
    package mutating func handled(_ item: ItemKey) throws(WireError) -> Frame {
        try frame(.handled, of: item) { () throws(WireError) in try FinishedFrame(item, .handled).envelope }
    }

    private mutating func frame(
        _ kind: Kind, of item: ItemKey, _ envelope: () throws(WireError) -> Envelope
    ) throws(WireError) -> Frame {
        let isSame = queue == item.queue
        if isSame, let frame = templates[kind.rawValue]?.frame(of: item.id) { return frame }
        let envelope = try envelope()
        let frame = try envelope.frame()
        if !isSame {
            queue = item.queue
            for index in templates.indices { templates[index] = nil }
        }
        templates[kind.rawValue] = FrameTemplate(frame, of: envelope)
        return frame
    }
}
