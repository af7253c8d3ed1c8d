#ifndef TRANSFER_RUN_SHA256_H
#define TRANSFER_RUN_SHA256_H
#include <stddef.h>
#include <stdint.h>

// SHA-256 as FIPS 180-4 has it, for a few KiB at once: a short run needs the digest of its job and nothing else of
// libcrypto, and to load that takes longer than reading the job. Long bodies are libcrypto's, which knows the processor.
void tr_sha256(const void *bytes, size_t count, uint8_t digest[32]);
#endif
