#ifndef TRANSFER_RUN_TCP_H
#define TRANSFER_RUN_TCP_H
#include <stdint.h>

// Declared by the kernel's header alone, which does not go together with the C library's.
extern const int tr_SO_BINDTOIFINDEX;

struct tr_tcp_counts {
    int64_t acknowledged;
    int64_t received;
};
// 0, or -1 where the socket is none of TCP or the kernel does not count.
int tr_tcp_counts(int socket, struct tr_tcp_counts *counts);
#endif
