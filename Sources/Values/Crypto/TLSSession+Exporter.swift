// Keying material that only the two ends of a connection know: it binds what is said inside to this connection.

import CTandemOpenSSL

extension TLSSession {
    /// Keying material of this connection (RFC 8446, 7.5); the same at both ends.
    /// - Throws: ``TLSError/notEstablished`` before the handshake is done.
    package func exporter(label: String, context: [UInt8]? = nil, count: Int) throws(TLSError) -> [UInt8] {
        guard state == .established else { throw .notEstablished }
        var material = [UInt8](repeating: 0, count: count)
        let exported = openSSL {
            unsafe SSL_export_keying_material(
                connection, &material, count, label, label.utf8.count, context, context?.count ?? 0,
                context == nil ? 0 : 1)
        }
        guard exported.value == 1 else { throw .failed(exported.faults.text) }
        return material
    }

    /// The channel binding of RFC 9266, 32 bytes.
    package func channelBinding() throws(TLSError) -> [UInt8] {
        try exporter(label: "EXPORTER-Channel-Binding", count: 32)
    }
}
