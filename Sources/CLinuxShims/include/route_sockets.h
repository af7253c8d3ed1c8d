#ifndef TRANSFER_RUN_ROUTE_SOCKETS_H
#define TRANSFER_RUN_ROUTE_SOCKETS_H
#include <stddef.h>
#include <stdint.h>

// rtnetlink: its address family, sockaddr_nl and groups stand in headers that Swift's Glibc module leaves out.

// Close-on-exec, not blocking; -1 and errno. `listens`: it also gets what the kernel tells of links, addresses and
// routes.
int tr_route_socket(int listens);
int64_t tr_route_send(int socket, const void *bytes, size_t count);
// One datagram of the kernel's, and its whole length, which may be more than there was room for; -1 and errno.
int64_t tr_route_receive(int socket, void *room, size_t size);
#endif
