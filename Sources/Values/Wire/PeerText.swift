// Text of a peer inside an error: cut and escaped, so that it can neither flood nor forge a log line (LIM-13).

enum PeerText {
    /// The text in quotes, at most ``Limits/peerText`` characters, everything but printable ASCII as `?`.
    static func quoted(_ text: String) -> String {
        let scalars = text.unicodeScalars
        let shown = scalars.prefix(Limits.peerText).map { (" "..."~").contains($0) ? Character($0) : "?" }
        return "'\(String(shown))'" + (scalars.count > Limits.peerText ? "..." : "")
    }
}
