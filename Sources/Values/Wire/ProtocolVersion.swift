// The protocol's version, negotiated in hello (SES-2): the highest that both sides speak.

/// A protocol version; 1 is the first.
package struct ProtocolVersion: Sendable, Hashable, Comparable, CustomStringConvertible {
    package let number: UInt32

    /// Nil for 0, which no document defines.
    package init?(_ number: UInt32) {
        guard number >= 1 else { return nil }
        self.number = number
    }

    private init(known number: UInt32) { self.number = number }

    /// Version 1: what Protocol/ describes.
    package static let first = ProtocolVersion(known: 1)
    /// The versions that this code speaks.
    package static let supported = first...first

    /// The highest version in both ranges; nil if they do not meet.
    package static func chosen(
        from offered: ClosedRange<ProtocolVersion>, and own: ClosedRange<ProtocolVersion> = supported
    ) -> ProtocolVersion? {
        let highest = min(offered.upperBound, own.upperBound)
        return highest >= max(offered.lowerBound, own.lowerBound) ? highest : nil
    }

    package static func < (left: Self, right: Self) -> Bool { left.number < right.number }

    package var description: String { String(number) }
}
