#include "shim.h"

#define LATE_LIBRARY "libpcre2-8.so.0"
LATE_PCRE2(LATE_CALL)
