#include "late.h"
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

void *tr_late_open(const char *library) { return dlopen(library, RTLD_LAZY | RTLD_LOCAL); }

void *tr_late_find(const char *library, const char *function) {
    // Opened once for each function, which only counts; it stays for good.
    void *opened = tr_late_open(library);
    void *place = opened ? dlsym(opened, function) : 0;
    if (place) return place;
    dprintf(STDERR_FILENO, "transfer-run: error while loading shared libraries: %s\n", dlerror());
    _exit(127);
}
