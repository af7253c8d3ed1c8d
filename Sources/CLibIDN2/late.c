#include "shim.h"

#define LATE_LIBRARY "libidn2.so.0"
LATE_IDN2(LATE_CALL)
