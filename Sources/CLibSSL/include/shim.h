#ifndef TRANSFER_RUN_LIBSSL_SHIM_H
#define TRANSFER_RUN_LIBSSL_SHIM_H
// Before the headers that call them.
#include "functions.h"
#include "sha256.h"
#include <late.h>
#include <openssl/stack.h>
LATE_STACK(LATE_LABEL)

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wdeprecated-declarations"
LATE_CRYPTO(LATE_LABEL)
LATE_SSL(LATE_LABEL)
#pragma clang diagnostic pop

// Why libcrypto cannot be loaded; nothing where it can.
const char *tr_crypto_lack(void);

// SSL_CTX_get_ex_new_index is a macro over a function with five arguments, four of which we never use.
static inline int tr_ssl_context_index(void) { return SSL_CTX_get_ex_new_index(0, 0, 0, 0, 0); }
#endif
