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

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

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

// OpenSSL's memory with zeros written before it is freed. OpenSSL clears most of its keys by itself, but not those in a
// connection: its traffic secrets, exporter secret and initialisation vectors stay in the heap when it ends. Larger
// blocks are the buffers of records, which hold no keys and are freed after each turn (SSL_MODE_RELEASE_BUFFERS).
enum { CTandemOpenSSL_largest_cleared = 16384 };

static inline void *CTandemOpenSSL_memory_allocate(size_t count, const char *file, int line) {
    (void)file, (void)line;
    return count == 0 ? NULL : malloc(count);
}

static inline void CTandemOpenSSL_memory_free(void *memory, const char *file, int line) {
    (void)file, (void)line;
    if (memory == NULL) return;
    size_t usable = malloc_usable_size(memory);
    if (usable <= CTandemOpenSSL_largest_cleared) explicit_bzero(memory, usable);
    free(memory);
}

static inline void *CTandemOpenSSL_memory_resize(void *memory, size_t count, const char *file, int line) {
    size_t usable = memory == NULL ? 0 : malloc_usable_size(memory);
    if (count != 0 && count <= usable) return memory;
    // Not realloc: where it moves, it leaves the bytes behind.
    void *moved = CTandemOpenSSL_memory_allocate(count, file, line);
    if (moved == NULL && count != 0) return NULL;
    if (moved != NULL && usable != 0) memcpy(moved, memory, usable);
    CTandemOpenSSL_memory_free(memory, file, line);
    return moved;
}

/// Whether it took effect: only before OpenSSL has used memory.
static inline int CTandemOpenSSL_cleanse_freed_memory(void) {
    return CRYPTO_set_mem_functions(
        CTandemOpenSSL_memory_allocate, CTandemOpenSSL_memory_resize, CTandemOpenSSL_memory_free);
}

// Constants with casts in them, which Swift does not import.
static const uint64_t CTandemOpenSSL_INIT_QUIETLY =
    OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_LOAD_CRYPTO_STRINGS;
