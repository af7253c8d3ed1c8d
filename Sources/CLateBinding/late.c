#include "late.h"
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

// A descriptor with which a library can be loaded when no other is free.
static int reserve = -1;

__attribute__((constructor)) static void keep_reserve(void) {
    int first = open("/dev/null", O_RDONLY | O_CLOEXEC);
    // Not the number of a standard one that is closed, which is for others to open.
    int kept = first < 0 || first > 2 ? first : fcntl(first, F_DUPFD_CLOEXEC, 3);
    if (kept != first) close(first);
    __atomic_store_n(&reserve, kept, __ATOMIC_RELEASE);
}

void *tr_late_open(const char *library) {
    void *opened = dlopen(library, RTLD_LAZY | RTLD_LOCAL);
    if (opened) return opened;
    int kept = __atomic_exchange_n(&reserve, -1, __ATOMIC_ACQ_REL);
    if (kept < 0) return 0;
    close(kept);
    opened = dlopen(library, RTLD_LAZY | RTLD_LOCAL);
    keep_reserve();
    return opened;
}

void *tr_late_find(const char *library, const char *function) {
    // Opened once for each function, which only counts; it stays for good.
    void *opened = tr_late_open(library);
    void *place = opened ? dlsym(opened, function) : 0;
    if (place) return place;
    dprintf(STDERR_FILENO, "transfer-run: error while loading shared libraries: %s\n", dlerror());
    _exit(127);
}
