#include "shim.h"
#include "late.h"
#include <dlfcn.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <string.h>

// Those of needs.S, by what they are for: a handshake and what is spoken after it, signing in, all else.
static const char *const libraries[] = {
    "libcrypto.so.3", "libssl.so.3", "libnghttp2.so.14", "libgssapi_krb5.so.2", "libbrotlidec.so.1", "libzstd.so.1",
    "libidn2.so.0", "libpsl.so.5", "libssh2.so.1", "librtmp.so.1", "libldap-2.5.so.0", "liblber-2.5.so.0",
};
const int tr_curl_libraries = sizeof libraries / sizeof *libraries;

const char *tr_curl_lacks(int count) {
    for (int number = 0; number < count; number++)
        if (!tr_late_open(libraries[number])) return dlerror();
    return 0;
}

// As needs.S lays it out.
struct need {
    int32_t known;
    int32_t library;
    char name[];
};

static uint64_t agreed;
static const OPENSSL_INIT_SETTINGS *settings;

// libcurl makes OpenSSL ready when it is made ready itself. Here that waits until something else of OpenSSL is called.
__attribute__((visibility("hidden")))
int OPENSSL_init_ssl(uint64_t options, const OPENSSL_INIT_SETTINGS *given) {
    agreed = options;
    settings = given;
    return 1;
}
static void make_ready(void) {
    int (*init)(uint64_t, const OPENSSL_INIT_SETTINGS *) = tr_late_find("libssl.so.3", "OPENSSL_init_ssl");
    init(agreed, settings);
}

// Nor is libssh2 made ready before its first session, which does so itself. (No job speaks its protocols.)
__attribute__((visibility("hidden"))) int libssh2_init(int flags) { return 0; }

// The one thing of a library that is no function: what kind of name `name@host` is, by RFC 2744.
struct gss_OID {
    uint32_t length;
    const void *elements;
};
static struct gss_OID hostbased = {10, "\x2a\x86\x48\x86\xf7\x12\x01\x02\x01\x04"};
__attribute__((visibility("hidden"))) struct gss_OID *GSS_C_NT_HOSTBASED_SERVICE = &hostbased;

// Called by needs.S: where a function is. Threads that ask at the same time get the same.
__attribute__((visibility("hidden"))) void *tr_curl_need(const struct need *need) {
    const char *library = (const char *)&need->library + need->library;
    if (strncmp(library, "libssl.", 7) == 0 || strncmp(library, "libcrypto.", 10) == 0) {
        static pthread_once_t once = PTHREAD_ONCE_INIT;
        pthread_once(&once, make_ready);
    }
    void *place = tr_late_find(library, need->name);
    __atomic_store_n((void **)((char *)&need->known + need->known), place, __ATOMIC_RELEASE);
    return place;
}
