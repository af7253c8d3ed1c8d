#include "shim.h"

// The version that the headers belong to.
#define FILE_OF(library, version) library ".so." FILE_VERSION(version)
#define FILE_VERSION(version) #version

#pragma clang diagnostic ignored "-Wdeprecated-declarations"

#define LATE_LIBRARY FILE_OF("libcrypto", OPENSSL_SHLIB_VERSION)
LATE_STACK(LATE_CALL)
LATE_CRYPTO(LATE_CALL)
LATE_LACK(tr_crypto_lack)

#undef LATE_LIBRARY
#define LATE_LIBRARY FILE_OF("libssl", OPENSSL_SHLIB_VERSION)
LATE_SSL(LATE_CALL)
