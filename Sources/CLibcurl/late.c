#include "shim.h"

#ifdef TRANSFER_RUN_IS_STATIC
// libcurl and OpenSSL are linked: what Swift calls goes to libcurl's own functions.
#define CALL(result, name, parameters, arguments) \
    extern __typeof__(name) own_##name __asm__(#name); \
    result name parameters { return own_##name arguments; }
#define VARIADIC(name) \
    __typeof__(&name) tr_##name(void) { return &name; }
LATE_CURL(CALL)

const char *tr_curl_lacks(enum tr_curl_need need) { return need == tr_curl_negotiate ? tr_gssapi_lack() : 0; }

const char *tr_curl_version_text(void) { return LIBCURL_VERSION; }
#else
#include <dlfcn.h>
#include <openssl/opensslv.h>

#define FILE_OF(library, version) library ".so." FILE_VERSION(version)
#define FILE_VERSION(version) #version
#define LATE_LIBRARY "libcurl.so.4"
LATE_CURL(LATE_CALL)

#define VARIADIC(name) \
    __typeof__(&name) tr_##name(void) { \
        static __typeof__(&name) known; \
        __typeof__(&name) place = __atomic_load_n(&known, __ATOMIC_ACQUIRE); \
        if (!place) { \
            place = (__typeof__(&name))tr_late_find(LATE_LIBRARY, #name); \
            __atomic_store_n(&known, place, __ATOMIC_RELEASE); \
        } \
        return place; \
    }

// What libcurl needs comes with it; of OpenSSL something is called by us as well.
const char *tr_curl_lacks(enum tr_curl_need need) {
    static const char *const libraries[] = {
        LATE_LIBRARY, FILE_OF("libcrypto", OPENSSL_SHLIB_VERSION), FILE_OF("libssl", OPENSSL_SHLIB_VERSION),
    };
    int count = need == tr_curl_itself ? 1 : sizeof libraries / sizeof *libraries;
    for (int number = 0; number < count; number++)
        if (!tr_late_open(libraries[number])) return dlerror();
    return 0;
}

const char *tr_curl_version_text(void) {
    return tr_late_open(LATE_LIBRARY) ? curl_version_info(CURLVERSION_NOW)->version : 0;
}
#endif

VARIADIC(curl_easy_setopt)
VARIADIC(curl_easy_getinfo)
VARIADIC(curl_multi_setopt)
VARIADIC(curl_share_setopt)
