#ifndef TRANSFER_RUN_PCRE2_SHIM_H
#define TRANSFER_RUN_PCRE2_SHIM_H
// The header wants the code unit width before it is read, which Swift cannot say.
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#endif
