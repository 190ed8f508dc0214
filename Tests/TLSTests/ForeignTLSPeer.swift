// A TLS peer that is not ours: plain OpenSSL with whatever a stranger may bring: an older version, or no certificate.
// It also leaves the thread's error queue dirty on purpose, as other software in the process may.

import CTandemTLS
import TandemCrypto
import TandemTLS
import TandemTestSupport
import Testing

final class ForeignTLSPeer {
    private let context = SSL_CTX_new(TLS_method())
    private let connection: OpaquePointer?
    private let input = BIO_new(BIO_s_mem())
    private let output = BIO_new(BIO_s_mem())

    /// An end that speaks no later version than `maximum`; a client would take tickets and send early data.
    init(_ side: TLSSession.Side, upTo maximum: Int32 = TLS1_3_VERSION, hasCertificate: Bool = false) {
        _ = SSL_CTX_ctrl(context, SSL_CTRL_SET_MAX_PROTO_VERSION, Int(maximum), nil)
        _ = SSL_CTX_ctrl(context, SSL_CTRL_SET_SESS_CACHE_MODE, Int(SSL_SESS_CACHE_CLIENT), nil)
        if hasCertificate { Self.certify(context) }
        connection = SSL_new(context)
        SSL_set_bio(connection, input, output)
        switch side {
        case .client: SSL_set_connect_state(connection)
        case .server: SSL_set_accept_state(connection)
        }
    }

    /// Gives it a certificate for a fresh key, made by the `openssl` command.
    private static func certify(_ context: OpaquePointer?) {
        let directory = OpenSSLCommand()
        directory.run("req -x509 -newkey ed25519 -nodes -keyout key.pem -out certificate.pem -subj /CN=x -days 2")
        #expect(SSL_CTX_use_certificate_file(context, directory.path("certificate.pem"), SSL_FILETYPE_PEM) == 1)
        #expect(SSL_CTX_use_PrivateKey_file(context, directory.path("key.pem"), SSL_FILETYPE_PEM) == 1)
    }

    /// Whether the server has sent a ticket, or would take early data.
    var canResume: Bool {
        let session = SSL_get1_session(connection)
        defer { SSL_SESSION_free(session) }
        return SSL_SESSION_is_resumable(session) == 1 || SSL_SESSION_get_max_early_data(session) > 0
    }

    deinit {
        SSL_free(connection)
        SSL_CTX_free(context)
    }

    /// Goes one step and gives the bytes to send.
    func step(_ received: [UInt8]) -> [UInt8] {
        if !received.isEmpty { BIO_write(input, received, Int32(received.count)) }
        if SSL_do_handshake(connection) == 1 {
            var byte: UInt8 = 0
            SSL_read(connection, &byte, 1)
        }
        var bytes = [UInt8](repeating: 0, count: 65536)
        let count = BIO_read(output, &bytes, Int32(bytes.count))
        return Array(bytes.prefix(max(0, Int(count))))
    }

    /// Carries bytes between this peer and our end until our end fails or both are silent; the error of our end.
    func run(against end: TLSEnd) -> TLSError? {
        do throws(TLSError) {
            try end.start()
            for _ in 0..<20 {
                let toEnd = step(end.takeOutput())
                try end.receive(toEnd)
            }
            return nil
        } catch { return error }
    }

    /// Leaves an unrelated error in this thread's queue.
    static func poisonErrorQueue() {
        CTandemTLS_raise(ERR_LIB_SSL, SSL_R_WRONG_VERSION_NUMBER)
    }

    static var errorQueueIsEmpty: Bool { ERR_peek_error() == 0 }
}
