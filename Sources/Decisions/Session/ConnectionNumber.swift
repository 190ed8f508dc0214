// The name of a connection inside one daemon, for all who must not take one connection for another.

/// A connection of this daemon: a local socket or a device link. Numbers are never used twice.
package struct ConnectionNumber: Sendable, Hashable, Comparable {
    package let value: UInt64

    package init(_ value: UInt64) { self.value = value }

    package static func < (left: Self, right: Self) -> Bool { left.value < right.value }
}
