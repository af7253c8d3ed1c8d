#include "shim.h"

#define LATE_LIBRARY "libpsl.so.5"
LATE_PSL(LATE_CALL)
