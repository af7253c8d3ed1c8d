#include "shim.h"

#define LATE_LIBRARY "liblzma.so.5"
LATE_LZMA(LATE_CALL)
LATE_LACK(tr_lzma_lack)
