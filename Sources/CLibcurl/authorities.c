#include "shim.h"

#ifdef TRANSFER_RUN_IS_STATIC
#include <unistd.h>

static const char *first_of(const char *const places[]) {
    for (int number = 0; places[number]; number++)
        if (access(places[number], R_OK) == 0) return places[number];
    return places[0];
}

const char *tr_curl_authorities(void) {
    static const char *const files[] = {
        "/etc/ssl/certs/ca-certificates.crt",                // Debian, Ubuntu, Arch, Gentoo
        "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", // Fedora, RHEL
        "/etc/ssl/ca-bundle.pem",                            // SUSE
        "/etc/ssl/cert.pem",
        0,
    };
    return first_of(files);
}

const char *tr_curl_authority_folder(void) {
    static const char *const folders[] = {
        "/etc/pki/ca-trust/extracted/pem/directory-hash", // Fedora, RHEL
        "/etc/ssl/certs",
        0,
    };
    return first_of(folders);
}
#else
const char *tr_curl_authorities(void) { return 0; }
const char *tr_curl_authority_folder(void) { return 0; }
#endif
