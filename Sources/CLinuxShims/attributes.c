#define _GNU_SOURCE
#include "CLinuxShims.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>

static int is_list(const char *name) {
    return strcmp(name, "system.posix_acl_access") == 0 || strcmp(name, "system.posix_acl_default") == 0;
}

static int copy(int from, int to, const char *name) {
    // The most that Linux takes of one.
    char *value = malloc(65536);
    if (!value) return -1;
    ssize_t size = fgetxattr(from, name, value, 65536);
    int status = size < 0 ? (errno == ENODATA ? 0 : -1) : fsetxattr(to, name, value, (size_t)size, 0);
    free(value);
    return status;
}

static int copy_all(int from, int to, const char *names, ssize_t size) {
    for (const char *name = names; name < names + size; name += strlen(name) + 1) {
        if ((strncmp(name, "user.", 5) == 0 || is_list(name)) && copy(from, to, name) < 0) return -1;
    }
    return 0;
}

// Lists that a folder got from the one that it was made in.
static void remove_lists(int from, int to, const char *names, ssize_t size) {
    for (const char *name = names; name < names + size; name += strlen(name) + 1) {
        if (is_list(name) && fgetxattr(from, name, NULL, 0) < 0 && errno == ENODATA) fremovexattr(to, name);
    }
}

int tr_copy_attributes(int from, int to) {
    // The most that Linux tells of one file's names.
    char *names = malloc(65536);
    if (!names) return -1;
    ssize_t size = flistxattr(to, names, 65536);
    if (size > 0) remove_lists(from, to, names, size);
    size = flistxattr(from, names, 65536);
    // A filesystem that knows none has none to lose.
    int status = size < 0 ? (errno == ENOTSUP ? 0 : -1) : copy_all(from, to, names, size);
    int code = errno;
    free(names);
    errno = code;
    return status;
}
