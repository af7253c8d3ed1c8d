#include "shim.h"

// The version that the headers belong to.
#define FILE_OF(library, version) library ".so." FILE_VERSION(version)
#define FILE_VERSION(version) #version

#pragma clang diagnostic ignored "-Wdeprecated-declarations"

#ifdef TRANSFER_RUN_IS_STATIC
// OpenSSL is linked: what Swift calls goes to its own functions.
#define CALL(result, name, parameters, arguments) \
    extern __typeof__(name) own_##name __asm__(#name); \
    result name parameters { return own_##name arguments; }
LATE_STACK(CALL)
LATE_CRYPTO(CALL)
LATE_SSL(CALL)
const char *tr_crypto_lack(void) { return 0; }
#else
#define LATE_LIBRARY FILE_OF("libcrypto", OPENSSL_SHLIB_VERSION)
LATE_STACK(LATE_CALL)
LATE_CRYPTO(LATE_CALL)
LATE_LACK(tr_crypto_lack)

#undef LATE_LIBRARY
#define LATE_LIBRARY FILE_OF("libssl", OPENSSL_SHLIB_VERSION)
LATE_SSL(LATE_CALL)
#endif
