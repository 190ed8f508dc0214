// What a receiver says when it cannot take an item (DEL-12): the sender keeps the last such word, because it explains the
// end of an item that was given up (DEL-25).

/// Why a peer did not take an item.
package struct ItemRefusal: Sendable, Hashable {
    /// One of the error codes.
    package let code: Int64
    /// What it was more exactly; nil if the peer told no name.
    package let name: String?

    package init(code: Int64, name: String? = nil) {
        self.code = code
        self.name = name
    }
}
