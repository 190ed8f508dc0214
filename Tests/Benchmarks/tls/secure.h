// OpenSSL as the floor uses it, with the settings of Tandem's links: TLS 1.3 only, a certificate from both ends, one
// key that both accept and no other, no tickets, buffers given back while a link is idle.
#pragma once
#include <openssl/ssl.h>
#include <stddef.h>
#include <stdint.h>

enum { RECORD = 16 * 1024 };  // the largest plaintext of a TLS record

// Encrypted bytes to send; the sender empties them.
extern uint8_t sealed[];
extern size_t sealedCount;

void prepareTLS(void);
SSL *secure(int socket, int dials);  // shakes hands, waiting; the socket must block. NULL: refused
