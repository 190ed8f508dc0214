// Framing (FRM-1 to FRM-3): a stream of bytes gives the same frames however it is cut, and a wrong length is refused
// as soon as its four bytes are there.

import TandemBase
import TandemTestSupport
import TandemWire
import Testing

@Suite struct FrameDecoderTests {
    /// The frames of a stream that arrives in these pieces.
    static func frames(_ pieces: [ArraySlice<UInt8>], limit: Int = Limits.frame) throws -> [Frame] {
        var decoder = FrameDecoder(limit: limit)
        var frames: [Frame] = []
        for piece in pieces {
            decoder.append(piece)
            while let frame = try decoder.next() { frames.append(frame) }
        }
        #expect(decoder.bufferedCount == 0)
        return frames
    }

    static let stream: (frames: [Frame], bytes: [UInt8]) = {
        let payloads: [[UInt8]] = [
            [1], Array(0...255), [0, 0, 0, 0], [0, 0, 0, 1, 9], Array(repeating: 7, count: 40),
        ]
        let frames = payloads.compactMap { try? Frame(payload: $0) }
        return (frames, frames.flatMap { $0.bytes.copied() })
    }()

    @Test func aFrameIsItsLengthAndItsPayload() throws {
        let frame = try Frame(payload: [9, 8, 7])
        #expect(frame.bytes.copied() == [0, 0, 0, 3, 9, 8, 7])
        #expect(frame.payload.copied() == [9, 8, 7])
    }

    @Test func everySplitInTwoGivesTheSameFrames() throws {
        let (frames, bytes) = Self.stream
        for offset in 0...bytes.count {
            #expect(try Self.frames([bytes[..<offset], bytes[offset...]]) == frames)
        }
    }

    @Test func aTruncatedFrameIsNeverGivenOut() throws {
        let bytes = try Frame(payload: Array(1...20)).bytes.copied()
        for count in 0..<bytes.count {
            var decoder = FrameDecoder(limit: Limits.frame)
            decoder.append(bytes[..<count])
            #expect(try decoder.next() == nil)
            #expect(decoder.bufferedCount == count)
        }
    }

    @Test(arguments: [(Limits.frame, Limits.frame), (Limits.unpinnedFrame, Limits.unpinnedFrame), (1, 1)])
    func aFrameOfTheLimitIsRead(length: Int, limit: Int) throws {
        let bytes = try Frame(payload: [UInt8](repeating: 5, count: length), limit: limit).bytes.copied()
        #expect(try Self.frames([bytes[...]], limit: limit).first?.payload.count == length)
    }

    @Test(
        arguments: [
            (0, Limits.frame), (524_289, Limits.frame), (4097, Limits.unpinnedFrame), (.max, Limits.frame),
            (0x6270_6C69, Limits.frame), (0x3C3F_786D, Limits.unpinnedFrame),
        ] as [(UInt32, Int)])
    func aWrongLengthIsRefusedWithItsHeader(length: UInt32, limit: Int) {
        var decoder = FrameDecoder(limit: limit)
        let bytes = Bytes.bigEndian(length)
        decoder.append(bytes[..<3])
        #expect(throws: Never.self) { try decoder.next() }
        decoder.append(bytes[3...])
        let expected = WireError.frameLength(length, limit: limit)
        #expect(throws: expected) { try decoder.next() }
        // There is no way on: the same answer again, and nothing was allocated for what was claimed.
        #expect(throws: expected) { try decoder.next() }
        #expect(decoder.bufferedCount == 4)
        #expect(expected.refusalName == .tooLarge)
        #expect(expected.description.contains(String(length)) && expected.description.contains(String(limit)))
    }

    @Test func aFrameBeforeAWrongLengthIsStillGivenOut() throws {
        var decoder = FrameDecoder(limit: 10)
        decoder.append(try Frame(payload: [1]).bytes.copied() + Bytes.bigEndian(11))
        #expect(try decoder.next()?.payload.copied() == [1])
        #expect(throws: WireError.frameLength(11, limit: 10)) { try decoder.next() }
    }

    @Test func theLimitMayGrowBetweenFrames() throws {
        var decoder = FrameDecoder(limit: 2)
        decoder.append(Bytes.frame([1, 2]) + Bytes.frame([1, 2, 3]))
        #expect(try decoder.next()?.payload.copied() == [1, 2])
        decoder.limit = 3
        #expect(try decoder.next()?.payload.copied() == [1, 2, 3])
    }

    @Test func aPayloadThatIsEmptyOrTooLargeMakesNoFrame() {
        #expect(throws: WireError.frameLength(0, limit: Limits.frame)) { try Frame(payload: []) }
        #expect(throws: WireError.frameLength(5, limit: 4)) { try Frame(payload: [1, 2, 3, 4, 5], limit: 4) }
    }
}
