#define _GNU_SOURCE
#include "secure.h"
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SEALED = 8 * 1024 * 1024, READ_AHEAD = 64 * 1024 };

uint8_t sealed[SEALED];
size_t sealedCount;
static SSL_CTX *context;
static EVP_PKEY *key;
static BIO_METHOD *toSealed;

static _Noreturn void die(const char *what) {
    fprintf(stderr, "%s\n", what);
    ERR_print_errors_fp(stderr);
    exit(1);
}

// Records go to one place and from there into one call, instead of one call each.
static int writeSealed(BIO *bio, const char *bytes, size_t count, size_t *written) {
    (void)bio;
    if (count > SEALED - sealedCount) die("more than a turn can have");
    memcpy(sealed + sealedCount, bytes, count);
    sealedCount += *written = count;
    return 1;
}

static long control(BIO *bio, int command, long number, void *pointer) {
    (void)bio, (void)number, (void)pointer;
    return command == BIO_CTRL_FLUSH;
}

static int isOurs(X509_STORE_CTX *store, void *nothing) {
    (void)nothing;
    return EVP_PKEY_eq(X509_get0_pubkey(X509_STORE_CTX_get0_cert(store)), key) == 1;
}

static X509 *certificate(void) {
    X509 *it = X509_new();
    X509_set_version(it, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(it), 1);
    X509_gmtime_adj(X509_getm_notBefore(it), 0);
    X509_gmtime_adj(X509_getm_notAfter(it), 24 * 3600);
    X509_set_pubkey(it, key);
    if (!X509_sign(it, key, NULL)) die("X509_sign");
    return it;
}

void prepareTLS(void) {
    // A key for a floor that nobody else can reach: both processes must have the same one.
    static const uint8_t seed[32] = "the floor has no secrets to keep";
    key = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, seed, sizeof seed);
    context = SSL_CTX_new(TLS_method());
    toSealed = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "sealed");
    if (!key || !context || !toSealed) die("OpenSSL");
    BIO_meth_set_write_ex(toSealed, writeSealed);
    BIO_meth_set_ctrl(toSealed, control);
    SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
    SSL_CTX_set_num_tickets(context, 0);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_read_ahead(context, 1);
    SSL_CTX_set_default_read_buffer_len(context, READ_AHEAD);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    SSL_CTX_set_cert_verify_callback(context, isOurs, NULL);
    if (SSL_CTX_use_certificate(context, certificate()) != 1 || SSL_CTX_use_PrivateKey(context, key) != 1)
        die("the certificate");
}

SSL *secure(int socket, int dials) {
    SSL *it = SSL_new(context);
    BIO *output;
    if (!it || !SSL_set_fd(it, socket) || (dials ? SSL_connect(it) : SSL_accept(it)) != 1) {
        SSL_free(it);
        return NULL;
    }
    if (!(output = BIO_new(toSealed))) die("BIO_new");
    BIO_set_init(output, 1);
    SSL_set0_wbio(it, output);
    return it;
}
