#ifndef TRANSFER_RUN_LOCAL_SOCKETS_H
#define TRANSFER_RUN_LOCAL_SOCKETS_H
#include <stdint.h>

// accept4, SO_PEERCRED's structure and eventfd are declared only under _GNU_SOURCE or in headers that Swift's Glibc
// module leaves out; sun_path is a tuple of 108 elements there.

// A Unix stream socket, close-on-exec, not blocking. The path must fit (tr_local_path_fits).
int tr_local_path_fits(const char *path);
int tr_local_bind(const char *path);
int tr_local_connect(const char *path);
// The next connection, close-on-exec, not blocking.
int tr_local_accept(int listener);
// The user of the process at the other end.
int tr_local_peer(int socket, uint32_t *user);
// A counter to poll on, close-on-exec, not blocking.
int tr_eventfd(void);
#endif
