#ifndef TRANSFER_RUN_PSL_SHIM_H
#define TRANSFER_RUN_PSL_SHIM_H
#include <libpsl.h>
#include <late.h>

// What is called of it: late.h says how this is read.
#define LATE_PSL(X) \
    X(const psl_ctx_t *, psl_builtin, (void), ()) \
    X(int, psl_is_public_suffix2, (const psl_ctx_t *psl, const char *domain, int type), (psl, domain, type)) \
    X(const char *, psl_registrable_domain, (const psl_ctx_t *psl, const char *domain), (psl, domain))
LATE_PSL(LATE_LABEL)

// The type flags are macros that Swift does not see. The list is the one built into the library: no file is read, and
// it is never freed. Without one (a library built so) every name counts as a public suffix, which is the safe side.
static inline int transfer_run_psl_is_public_suffix(const char *name) {
    return psl_is_public_suffix2(psl_builtin(), name, PSL_TYPE_ANY);
}

// libpsl answers with a pointer into the name: its offset says the same and keeps pointers out of Swift. -1 when the
// name is a public suffix itself.
static inline long transfer_run_psl_registrable_offset(const char *name) {
    const char *found = psl_registrable_domain(psl_builtin(), name);
    return found ? (long)(found - name) : -1;
}
#endif
