// Stands in for what `tandem keyset export --swift` writes.

enum TrustAnchor {
    static let publicKey: String? = nil
}
