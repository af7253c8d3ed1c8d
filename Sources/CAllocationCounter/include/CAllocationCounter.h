#ifndef TRANSFER_RUN_ALLOCATION_COUNTER_H
#define TRANSFER_RUN_ALLOCATION_COUNTER_H
#include <stdint.h>

// Allocations of all threads since the program began. Only the benchmark links this: it takes the place of malloc.
uint64_t tr_allocation_count(void);
#endif
