// The one door to OpenSSL 3: Crypto is the only room that imports it. Macros that Swift cannot see become
// static inline functions here, prefixed with the module's name.
#pragma once
#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <openssl/provider.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>
#include <openssl/ssl.h>
#include <openssl/store.h>
#include <openssl/ui.h>
#include <openssl/x509.h>

static inline void CTandemOpenSSL_free(void *memory) { OPENSSL_free(memory); }

static inline void CTandemOpenSSL_clear_free(void *memory, size_t count) { OPENSSL_clear_free(memory, count); }

/// The bytes that a memory BIO holds; they stay its own.
static inline long CTandemOpenSSL_BIO_get_mem_data(BIO *bio, char **bytes) { return BIO_get_mem_data(bio, bytes); }

static inline int CTandemOpenSSL_CTX_set_tls13_only(SSL_CTX *context) {
    return SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) == 1
        && SSL_CTX_set_max_proto_version(context, TLS1_3_VERSION) == 1;
}

static inline void CTandemOpenSSL_CTX_no_session_cache(SSL_CTX *context) {
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
}

static inline void CTandemOpenSSL_CTX_release_buffers(SSL_CTX *context) {
    SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
}

static inline void CTandemOpenSSL_CTX_set_max_cert_list(SSL_CTX *context, long count) {
    SSL_CTX_set_max_cert_list(context, count);
}

static inline int CTandemOpenSSL_CTX_set_sigalgs(SSL_CTX *context, const char *list) {
    return (int)SSL_CTX_set1_sigalgs_list(context, list);
}

static inline int CTandemOpenSSL_CTX_set_groups(SSL_CTX *context, const char *list) {
    return (int)SSL_CTX_set1_groups_list(context, list);
}

static inline int CTandemOpenSSL_library(unsigned long code) { return ERR_GET_LIB(code); }

static inline int CTandemOpenSSL_reason(unsigned long code) { return ERR_GET_REASON(code); }

/// Loads the texts of the errors of TLS and keys. OpenSSL calls these functions deprecated because it loads all texts
/// by itself at its start, which CTandemOpenSSL_INIT_QUIETLY keeps it from.
static inline void CTandemOpenSSL_load_error_texts(void) {
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wdeprecated-declarations"
    ERR_load_SSL_strings();
    ERR_load_EVP_strings();
    ERR_load_X509_strings();
    ERR_load_ASN1_strings();
#pragma clang diagnostic pop
}

// Constants with casts in them, which Swift does not import.
static const uint64_t CTandemOpenSSL_OP_NO_TICKET = SSL_OP_NO_TICKET;
static const uint64_t CTandemOpenSSL_OP_NO_COMPRESSION = SSL_OP_NO_COMPRESSION;
static const uint64_t CTandemOpenSSL_OP_NO_RENEGOTIATION = SSL_OP_NO_RENEGOTIATION;
static const uint64_t CTandemOpenSSL_INIT_QUIETLY =
    OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_LOAD_CRYPTO_STRINGS | OPENSSL_INIT_NO_LOAD_SSL_STRINGS;

/// Adds an entry to the error queue; variadic in OpenSSL.
static inline void CTandemOpenSSL_raise(int library, int reason) { ERR_raise(library, reason); }
