#define _GNU_SOURCE
#include "local_sockets.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int tr_local_path_fits(const char *path) { return strlen(path) < sizeof(((struct sockaddr_un *)0)->sun_path); }

// A socket that bind or connect was called on; closed again, with errno kept, when that failed.
static int with_address(const char *path, int (*call)(int, const struct sockaddr *, socklen_t)) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (!tr_local_path_fits(path)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    strcpy(address.sun_path, path);
    int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (descriptor < 0) return -1;
    if (call(descriptor, (const struct sockaddr *)&address, sizeof address) == 0) return descriptor;
    int code = errno;
    close(descriptor);
    errno = code;
    return -1;
}

int tr_local_bind(const char *path) { return with_address(path, bind); }

int tr_local_connect(const char *path) { return with_address(path, connect); }

int tr_local_accept(int listener) { return accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK); }

int tr_local_peer(int socket, uint32_t *user) {
    struct ucred credentials;
    socklen_t length = sizeof credentials;
    if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0) return -1;
    *user = credentials.uid;
    return 0;
}

int tr_eventfd(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }
