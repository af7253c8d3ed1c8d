#ifndef TRANSFER_RUN_BROTLI_ENCODER_SHIM_H
#define TRANSFER_RUN_BROTLI_ENCODER_SHIM_H
#include <brotli/encode.h>
#endif
