#define XXH_INLINE_ALL
#include <xxhash.h>

#include "CXXHash.h"

// It is xxHash's own state; a struct of this name is never made.
static XXH3_state_t *state(const struct tr_sum *sum) { return (XXH3_state_t *)sum; }

struct tr_sum *tr_sum_begin(void) {
    XXH3_state_t *made = XXH3_createState();
    if (made != NULL) XXH3_128bits_reset(made);
    return (struct tr_sum *)made;
}

void tr_sum_restart(struct tr_sum *sum) { XXH3_128bits_reset(state(sum)); }

void tr_sum_add(struct tr_sum *sum, const void *bytes, size_t count) {
    XXH3_128bits_update(state(sum), bytes, count);
}

void tr_sum_so_far(const struct tr_sum *sum, uint8_t result[16]) {
    XXH128_canonical_t text;
    XXH128_canonicalFromHash(&text, XXH3_128bits_digest(state(sum)));
    memcpy(result, text.digest, sizeof text.digest);
}

void tr_sum_end(struct tr_sum *sum) { XXH3_freeState(state(sum)); }
