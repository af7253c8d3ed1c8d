#ifndef TRANSFER_RUN_ZSTD_SHIM_H
#define TRANSFER_RUN_ZSTD_SHIM_H
#include <zstd.h>
#endif
