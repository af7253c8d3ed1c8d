#include "shim.h"

#ifdef TRANSFER_RUN_IS_STATIC
// libpsl is here: under the names that Swift calls stand its own functions.
#define CALL(result, name, parameters, arguments) \
    extern __typeof__(name) own_##name __asm__(#name); \
    result name parameters { return own_##name arguments; }
LATE_PSL(CALL)
#else
#define LATE_LIBRARY "libpsl.so.5"
LATE_PSL(LATE_CALL)
#endif
