// The part of needs.S that is no assembly.
#ifdef TRANSFER_RUN_IS_STATIC
#include "shim.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

#define LIBRARY(name, label) #name,
#define LATE(name, library)
#define DATA(name, library)
#define ANSWERED(name, value)
static const char *const libraries[] = {
#include "needs_table.h"
};
#undef LIBRARY
#undef DATA

// What of a library is no function is a pointer that it holds. It is taken when the library is asked for, which is before
// libcurl reads it.
#define LIBRARY(name, label)
#define DATA(name, library) __attribute__((visibility("hidden"))) void *name;
#include "needs_table.h"
#undef DATA
#define DATA(name, library) {#name, library, &name},
static const struct {
    const char *name, *library;
    void **place;
} pointers[] = {
#include "needs_table.h"
    {0, 0, 0},
};

static bool serves(const char *library, enum tr_curl_need need) {
    static const struct {
        const char *prefix;
        enum tr_curl_need need;
    } uses[] = {
        // It makes these ready when it is made ready itself.
        {"libcrypto.", tr_curl_itself}, {"libssl.", tr_curl_itself}, {"libgssapi", tr_curl_sign_in},
    };
    for (unsigned number = 0; number < sizeof uses / sizeof *uses; number++)
        if (!strncmp(library, uses[number].prefix, strlen(uses[number].prefix))) return need >= uses[number].need;
    return need >= tr_curl_everything;
}

const char *tr_curl_lacks(enum tr_curl_need need) {
    for (unsigned number = 0; number < sizeof libraries / sizeof *libraries; number++)
        if (serves(libraries[number], need) && !tr_late_open(libraries[number])) return dlerror();
    for (int number = 0; pointers[number].name; number++) {
        if (!serves(pointers[number].library, need)) continue;
        void **there = dlsym(tr_late_open(pointers[number].library), pointers[number].name);
        if (!there) return dlerror();
        __atomic_store_n(pointers[number].place, *there, __ATOMIC_RELEASE);
    }
    return 0;
}

// As needs.S lays it out.
struct need {
    int32_t known;
    int32_t library;
    char name[];
};

// Called by needs.S: where a function is. Threads that ask at the same time get the same.
__attribute__((visibility("hidden"))) void *tr_curl_need(const struct need *need) {
    void *place = tr_late_find((const char *)&need->library + need->library, need->name);
    __atomic_store_n((void **)((char *)&need->known + need->known), place, __ATOMIC_RELEASE);
    return place;
}
#else
typedef int nothing_here;
#endif
