// What a caller is told when the end that should have answered is gone (SES-11). A frame that never left is certainly
// not delivered and may be sent again (7007); one that left may have been handled, and nobody can know (7014).

package import TandemWire

/// The end of a connection that owed answers.
package enum AnsweringEnd: Sendable, Equatable {
    /// A local host app.
    case hostApp
    /// A device link, of whose bytes this many had left when it closed.
    case link(flushed: UInt64)
}

extension OpenRequest {
    /// Code and name of the failure for this request; nil if nobody waits for one.
    package func failure(lost end: AnsweringEnd) -> (code: SessionError.Code, name: String)? {
        switch end {
        case .hostApp: wantsReply ? (.messageReplyFailed, "counterpart-gone") : nil
        case .link(let flushed): endOffset > flushed ? (.notReachable, "not-sent") : (.deliveryFailed, "link-lost")
        }
    }
}
