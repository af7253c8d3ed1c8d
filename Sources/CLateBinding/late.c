#include "late.h"
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

void *tr_late_open(const char *library) { return dlopen(library, RTLD_LAZY | RTLD_LOCAL); }

const char *tr_late_lack(const char *library) { return tr_late_open(library) ? 0 : dlerror(); }

void *tr_late_find(const char *library, const char *function) {
    // Opened once for each function, which only counts; it stays for good.
    void *opened = tr_late_open(library);
    void *place = opened ? dlsym(opened, function) : 0;
    if (place) return place;
    dprintf(STDERR_FILENO, "error: a library cannot be loaded: %s\n", dlerror());
    _exit(4);
}
