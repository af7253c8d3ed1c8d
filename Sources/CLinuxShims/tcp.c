#define _GNU_SOURCE
#include "tcp.h"

#include <asm/socket.h>
// The kernel's: the C library's `tcp_info` ends before the counts.
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <sys/socket.h>

const int tr_SO_BINDTOIFINDEX = SO_BINDTOIFINDEX;

int tr_tcp_counts(int socket, struct tr_tcp_counts *counts) {
    struct tcp_info facts;
    socklen_t length = sizeof facts;
    if (getsockopt(socket, IPPROTO_TCP, TCP_INFO, &facts, &length)) return -1;
    // A kernel from before the counts.
    if (length < offsetof(struct tcp_info, tcpi_bytes_received) + sizeof facts.tcpi_bytes_received) return -1;
    counts->acknowledged = (int64_t)facts.tcpi_bytes_acked;
    counts->received = (int64_t)facts.tcpi_bytes_received;
    return 0;
}
