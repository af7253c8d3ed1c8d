#pragma once
#include <stddef.h>
#include <stdint.h>

// XXH3 of 128 bits, from the header of xxHash: no library is needed for it.

struct tr_sum;

// NULL when there is no memory.
struct tr_sum *tr_sum_begin(void);
void tr_sum_restart(struct tr_sum *sum);
void tr_sum_add(struct tr_sum *sum, const void *bytes, size_t count);
// Of the bytes so far; more may follow.
void tr_sum_so_far(const struct tr_sum *sum, uint8_t result[16]);
void tr_sum_end(struct tr_sum *sum);
