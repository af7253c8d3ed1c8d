#ifndef TRANSFER_RUN_BROTLI_SHIM_H
#define TRANSFER_RUN_BROTLI_SHIM_H
#include <brotli/decode.h>
#include <late.h>

// What is called of it: late.h says how this is read.
#define LATE_BROTLI(X) \
    X(BrotliDecoderState *, BrotliDecoderCreateInstance, (brotli_alloc_func alloc_func, brotli_free_func free_func, \
      void *opaque), (alloc_func, free_func, opaque)) \
    X(BrotliDecoderResult, BrotliDecoderDecompressStream, (BrotliDecoderState *state, size_t *available_in, \
      const uint8_t **next_in, size_t *available_out, uint8_t **next_out, size_t *total_out), \
      (state, available_in, next_in, available_out, next_out, total_out)) \
    X(void, BrotliDecoderDestroyInstance, (BrotliDecoderState *state), (state)) \
    X(const char *, BrotliDecoderErrorString, (BrotliDecoderErrorCode c), (c)) \
    X(BrotliDecoderErrorCode, BrotliDecoderGetErrorCode, (const BrotliDecoderState *state), (state))
LATE_BROTLI(LATE_LABEL)

// Why it cannot be loaded; nothing where it can.
const char *tr_brotli_lack(void);
#endif
