// The durable channels (FRM-8): each is a queue of its own for an application of a pairing. Version 1 uses
// `configuration`; the others are reserved words, so that no peer gives them another meaning.

/// A durable channel; its raw value is the word on the wire.
package enum Channel: String, Sendable, Hashable, CaseIterable {
    case configuration
    case context
    case userInfo
    case urgent
    case file
}
