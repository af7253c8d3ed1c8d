#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <spawn.h>
#include <sys/socket.h>
#include <unistd.h>
#include <sys/xattr.h>

#include "CTestShims.h"

int tr_test_accept(int listener, struct sockaddr *address, socklen_t *length) {
    return accept4(listener, address, length, SOCK_CLOEXEC);
}

int tr_test_pipe(int ends[2]) { return pipe2(ends, O_CLOEXEC); }

int tr_test_spawn_in_folder(posix_spawn_file_actions_t *actions, const char *folder) {
    return posix_spawn_file_actions_addchdir_np(actions, folder);
}

int tr_test_spawn_close_from(posix_spawn_file_actions_t *actions, int first) {
    return posix_spawn_file_actions_addclosefrom_np(actions, first);
}

int tr_test_enter_network(int space) { return setns(space, CLONE_NEWNET); }

int tr_test_set_attribute(const char *path, const char *name, const void *value, size_t size) {
    return setxattr(path, name, value, size, 0);
}

long tr_test_attribute(const char *path, const char *name, void *value, size_t size) {
    return getxattr(path, name, value, size);
}
