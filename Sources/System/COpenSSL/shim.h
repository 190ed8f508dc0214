// The one door to OpenSSL 3: Crypto is the only room that imports it. Macros that Swift cannot see become
// static inline functions here, prefixed with the module's name.
#pragma once
#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
