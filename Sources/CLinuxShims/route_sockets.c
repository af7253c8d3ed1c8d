#define _GNU_SOURCE
#include "route_sockets.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include <unistd.h>

int tr_route_socket(int listens) {
    struct sockaddr_nl address = {.nl_family = AF_NETLINK};
    if (listens) {
        address.nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR | RTMGRP_IPV4_ROUTE |
                            RTMGRP_IPV6_ROUTE;
    }
    int descriptor = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
    if (descriptor < 0) return -1;
    if (bind(descriptor, (const struct sockaddr *)&address, sizeof address) == 0) return descriptor;
    int code = errno;
    close(descriptor);
    errno = code;
    return -1;
}

int64_t tr_route_send(int socket, const void *bytes, size_t count) {
    struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
    return sendto(socket, bytes, count, 0, (const struct sockaddr *)&kernel, sizeof kernel);
}

int64_t tr_route_receive(int socket, void *room, size_t size) {
    while (1) {
        struct sockaddr_nl sender = {0};
        socklen_t length = sizeof sender;
        ssize_t count = recvfrom(socket, room, size, MSG_TRUNC, (struct sockaddr *)&sender, &length);
        // Any process may write to the socket: what it says of networks is nobody's word.
        if (count < 0 || (length >= sizeof sender && sender.nl_pid == 0)) return count;
    }
}
