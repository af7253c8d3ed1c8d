#ifndef TRANSFER_RUN_ZSTD_SHIM_H
#define TRANSFER_RUN_ZSTD_SHIM_H
#include <zstd.h>
#include <late.h>

// What is called of it: late.h says how this is read.
#define LATE_ZSTD(X) \
    X(size_t, ZSTD_DCtx_setParameter, (ZSTD_DCtx *dctx, ZSTD_dParameter param, int value), (dctx, param, value)) \
    X(ZSTD_DStream *, ZSTD_createDStream, (void), ()) \
    X(size_t, ZSTD_decompressStream, (ZSTD_DStream *zds, ZSTD_outBuffer *output, ZSTD_inBuffer *input), \
      (zds, output, input)) \
    X(size_t, ZSTD_freeDStream, (ZSTD_DStream *zds), (zds)) \
    X(const char *, ZSTD_getErrorName, (size_t code), (code)) \
    X(unsigned int, ZSTD_isError, (size_t code), (code))
LATE_ZSTD(LATE_LABEL)

// Why it cannot be loaded; nothing where it can.
const char *tr_zstd_lack(void);
#endif
