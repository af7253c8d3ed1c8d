#include "shim.h"

#define LATE_LIBRARY "libzstd.so.1"
LATE_ZSTD(LATE_CALL)
LATE_LACK(tr_zstd_lack)
