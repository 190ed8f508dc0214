// The one door to libssl of OpenSSL 3: TLS is the only room that imports it. Separate from libcrypto: apps and the
// console need keys and digests but no TLS, and do not load it. Macros that Swift cannot see become static inline
// functions here, prefixed with the module's name.
#pragma once
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

static inline void CTandemTLS_free(void *memory) { OPENSSL_free(memory); }

static inline int CTandemTLS_CTX_set_tls13_only(SSL_CTX *context) {
    return SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) == 1
        && SSL_CTX_set_max_proto_version(context, TLS1_3_VERSION) == 1;
}

static inline void CTandemTLS_CTX_no_session_cache(SSL_CTX *context) {
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
}

static inline void CTandemTLS_CTX_release_buffers(SSL_CTX *context) {
    SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
}

static inline void CTandemTLS_CTX_set_max_cert_list(SSL_CTX *context, long count) {
    SSL_CTX_set_max_cert_list(context, count);
}

static inline int CTandemTLS_CTX_set_sigalgs(SSL_CTX *context, const char *list) {
    return (int)SSL_CTX_set1_sigalgs_list(context, list);
}

static inline int CTandemTLS_CTX_set_groups(SSL_CTX *context, const char *list) {
    return (int)SSL_CTX_set1_groups_list(context, list);
}

/// Loads the texts of TLS errors. OpenSSL calls the function deprecated because it loads all texts by itself at its
/// start, which CTandemTLS_INIT_QUIETLY keeps it from.
static inline void CTandemTLS_load_error_texts(void) {
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wdeprecated-declarations"
    ERR_load_SSL_strings();
#pragma clang diagnostic pop
}

// Constants with casts in them, which Swift does not import.
static const uint64_t CTandemTLS_OP_NO_TICKET = SSL_OP_NO_TICKET;
static const uint64_t CTandemTLS_OP_NO_COMPRESSION = SSL_OP_NO_COMPRESSION;
static const uint64_t CTandemTLS_OP_NO_RENEGOTIATION = SSL_OP_NO_RENEGOTIATION;
static const uint64_t CTandemTLS_INIT_QUIETLY =
    OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_LOAD_CRYPTO_STRINGS | OPENSSL_INIT_NO_LOAD_SSL_STRINGS;

/// Adds an entry to the error queue; variadic in OpenSSL.
static inline void CTandemTLS_raise(int library, int reason) { ERR_raise(library, reason); }
