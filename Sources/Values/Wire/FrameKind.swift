// What a frame is (FRM-10). The kind decides which envelope keys a frame must and may have; FrameKind+Keys.swift
// holds that table. Kinds are closed: an unknown one is refused by name, never skipped.

/// The kind of a frame; its raw value is the word on the wire.
package enum FrameKind: String, Sendable, Hashable, CaseIterable {
    case hello
    case refusal
    case ping
    case pong
    case bye
    case register
    case registered
    case state
    case message
    case messageData
    case reply
    case failure
    case configuration
    case control
    case result
    case application
    case item
    case gap
    case stored
    case outcome
    case settled
    case chunk
    case want
    case submit
    case accepted
    case progress
    case delivery
    case verdict
    case finished
    case heard
    case context
    case query
    case answer
    case join
    case joined
}
