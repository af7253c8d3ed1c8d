#ifndef TRANSFER_RUN_LIBSSL_SHIM_H
#define TRANSFER_RUN_LIBSSL_SHIM_H
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#endif
