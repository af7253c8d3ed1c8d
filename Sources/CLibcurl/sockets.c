#include "shim.h"
#include <sys/socket.h>

static _Thread_local void *present;
static _Thread_local tr_socket_call receives, sends;

void tr_own_sockets(void *owner, tr_socket_call receive, tr_socket_call send) {
    present = owner;
    receives = receive;
    sends = send;
}

void *tr_socket_owner(void) { return present; }

// These stand in the place of the C library's for all of the program, in which only libcurl has them called back.
__attribute__((visibility("hidden"))) ssize_t recv(int socket, void *bytes, size_t count, int flags) {
    if (present && !flags) {
        ssize_t done = receives(present, socket, bytes, count);
        if (done != tr_not_taken) return done;
    }
    return recvfrom(socket, bytes, count, flags, 0, 0);
}

__attribute__((visibility("hidden"))) ssize_t send(int socket, const void *bytes, size_t count, int flags) {
    if (present) {
        ssize_t done = sends(present, socket, (void *)bytes, count);
        if (done != tr_not_taken) return done;
    }
    return sendto(socket, bytes, count, flags, 0, 0);
}
