#include "shim.h"

#define LATE_LIBRARY "libbrotlidec.so.1"
LATE_BROTLI(LATE_CALL)
LATE_LACK(tr_brotli_lack)
