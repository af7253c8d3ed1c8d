#ifndef TRANSFER_RUN_ZLIB_SHIM_H
#define TRANSFER_RUN_ZLIB_SHIM_H
#include <zlib.h>
#endif
