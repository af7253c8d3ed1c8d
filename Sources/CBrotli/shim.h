#ifndef TRANSFER_RUN_BROTLI_SHIM_H
#define TRANSFER_RUN_BROTLI_SHIM_H
#include <brotli/decode.h>
#endif
