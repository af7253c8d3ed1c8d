#ifndef TRANSFER_RUN_LZMA_SHIM_H
#define TRANSFER_RUN_LZMA_SHIM_H
#include <lzma.h>
#include <late.h>

// What is called of it: late.h says how this is read.
#define LATE_LZMA(X) \
    X(lzma_ret, lzma_stream_decoder, (lzma_stream *strm, uint64_t memlimit, uint32_t flags), (strm, memlimit, flags)) \
    X(lzma_ret, lzma_code, (lzma_stream *strm, lzma_action action), (strm, action)) \
    X(void, lzma_end, (lzma_stream *strm), (strm))
LATE_LZMA(LATE_LABEL)

// Why it cannot be loaded; nothing where it can.
const char *tr_lzma_lack(void);
#endif
