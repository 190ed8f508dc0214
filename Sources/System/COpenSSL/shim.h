// The one door to libcrypto of OpenSSL 3: Crypto is the only room that imports it. Macros that Swift cannot see become
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
#include <openssl/rsa.h>
#include <openssl/store.h>
#include <openssl/ui.h>
#include <openssl/x509.h>

static inline void CTandemOpenSSL_free(void *memory) { OPENSSL_free(memory); }

static inline void CTandemOpenSSL_clear_free(void *memory, size_t count) { OPENSSL_clear_free(memory, count); }

/// The bytes that a memory BIO holds; they stay its own.
static inline long CTandemOpenSSL_BIO_get_mem_data(BIO *bio, char **bytes) { return BIO_get_mem_data(bio, bytes); }

static inline int CTandemOpenSSL_library(unsigned long code) { return ERR_GET_LIB(code); }

static inline int CTandemOpenSSL_reason(unsigned long code) { return ERR_GET_REASON(code); }

/// Loads the texts of the errors of keys. OpenSSL calls these functions deprecated because it loads all texts
/// by itself at its start, which CTandemOpenSSL_INIT_QUIETLY keeps it from.
static inline void CTandemOpenSSL_load_error_texts(void) {
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wdeprecated-declarations"
    ERR_load_EVP_strings();
    ERR_load_X509_strings();
    ERR_load_ASN1_strings();
#pragma clang diagnostic pop
}

// Constants with casts in them, which Swift does not import.
static const uint64_t CTandemOpenSSL_INIT_QUIETLY =
    OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_LOAD_CRYPTO_STRINGS;
