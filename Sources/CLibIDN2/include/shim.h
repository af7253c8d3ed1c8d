#ifndef TRANSFER_RUN_IDN2_SHIM_H
#define TRANSFER_RUN_IDN2_SHIM_H
#include <idn2.h>
#include <late.h>

// What is called of it: late.h says how this is read.
#define LATE_IDN2(X) \
    X(void, idn2_free, (void *ptr), (ptr)) \
    X(int, idn2_to_ascii_8z, (const char *input, char **output, int flags), (input, output, flags))
LATE_IDN2(LATE_LABEL)

// The flags are an enum in newer headers and macros in older ones: one name that Swift sees in both.
static inline int transfer_run_idn2_to_ascii(const char *input, char **output) {
    return idn2_to_ascii_8z(input, output, IDN2_NFC_INPUT | IDN2_NONTRANSITIONAL);
}
static inline void transfer_run_idn2_free(void *pointer) { idn2_free(pointer); }
#endif
