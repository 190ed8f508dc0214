// The kernel's table of TCP connections (`/proc/net/tcp`), which names the user of each socket of this machine.

/// Reads the table.
package enum ConnectionTable {
    /// The user of the established socket with these ends; nil if it is not there.
    /// - Parameters:
    ///   - local: the socket's own end, as the table spells it: `0100007F:12AB`.
    ///   - remote: the other end.
    ///   - table: the table's text.
    package static func owner(of local: String, to remote: String, in table: String) -> UInt32? {
        for line in table.split(separator: "\n").dropFirst() {
            let words = line.split(separator: " ", omittingEmptySubsequences: true)
            // The state 01 is an established connection; others may have no owner any longer.
            if words.count > 7, words[1] == local, words[2] == remote, words[3] == "01" { return UInt32(words[7]) }
        }
        return nil
    }
}
