#define _GNU_SOURCE
#include "services.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

int tr_epoll_make(void) { return epoll_create1(EPOLL_CLOEXEC); }

int tr_epoll_set(
    int epoll, enum tr_epoll_change change, int descriptor, int is_reading, int is_writing, uint64_t tag) {
    static const int operations[] = {EPOLL_CTL_ADD, EPOLL_CTL_MOD, EPOLL_CTL_DEL};
    struct epoll_event event = {
        .events = (is_reading ? EPOLLIN : 0) | (is_writing ? EPOLLOUT : 0), .data.u64 = tag};
    return epoll_ctl(epoll, operations[change], descriptor, &event);
}

enum { most_ready = 256 };

int tr_epoll_wait(int epoll, struct tr_ready *ready, int count, int milliseconds) {
    struct epoll_event events[most_ready];
    int found = epoll_wait(epoll, events, count < most_ready ? count : most_ready, milliseconds);
    for (int index = 0; index < found; index++) {
        uint32_t which = events[index].events;
        int has_ended = (which & (EPOLLHUP | EPOLLERR)) != 0;
        ready[index] = (struct tr_ready){
            .tag = events[index].data.u64,
            .can_read = has_ended || (which & EPOLLIN),
            .can_write = has_ended || (which & EPOLLOUT)};
    }
    return found;
}

int tr_local_tell(const char *name, const void *bytes, size_t count) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = strlen(name);
    if (length == 0 || length >= sizeof address.sun_path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(address.sun_path, name, length);
    if (name[0] == '@') address.sun_path[0] = 0;
    int descriptor = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0) return -1;
    // An abstract name has no zero at its end: one would be part of it.
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + (name[0] == '@' ? 0 : 1));
    ssize_t sent = sendto(
        descriptor, bytes, count, MSG_NOSIGNAL | MSG_DONTWAIT, (const struct sockaddr *)&address, size);
    int code = errno;
    close(descriptor);
    errno = code;
    return sent < 0 ? -1 : 0;
}

static int option(int descriptor, int name) {
    int value = -1;
    socklen_t length = sizeof value;
    return getsockopt(descriptor, SOL_SOCKET, name, &value, &length) == 0 ? value : -1;
}

int tr_local_adopt(int descriptor) {
    if (option(descriptor, SO_DOMAIN) != AF_UNIX || option(descriptor, SO_TYPE) != SOCK_STREAM) return 0;
    if (option(descriptor, SO_ACCEPTCONN) != 1) return 0;
    int flags = fcntl(descriptor, F_GETFL);
    return flags >= 0 && fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) == 0 &&
           fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0;
}

static int prepare_apart(posix_spawn_file_actions_t *actions, posix_spawnattr_t *attributes, int errors) {
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    int code = posix_spawn_file_actions_adddup2(actions, errors, 2);
    if (code == 0) code = posix_spawn_file_actions_addopen(actions, 0, "/dev/null", O_RDONLY, 0);
    if (code == 0) code = posix_spawn_file_actions_addopen(actions, 1, "/dev/null", O_WRONLY, 0);
    if (code == 0) code = posix_spawn_file_actions_addclosefrom_np(actions, 3);
    if (code == 0) code = posix_spawn_file_actions_addchdir_np(actions, "/");
    if (code == 0) code = posix_spawnattr_setsigmask(attributes, &none);
    if (code == 0) code = posix_spawnattr_setsigdefault(attributes, &all);
    if (code == 0) {
        code = posix_spawnattr_setflags(
            attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
    }
    return code;
}

int tr_spawn_apart(
    const char *program, const char *const *words, const char *const *environment, int errors, int *process) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int code = posix_spawn_file_actions_init(&actions);
    if (code != 0) return code;
    code = posix_spawnattr_init(&attributes);
    if (code == 0) {
        code = prepare_apart(&actions, &attributes, errors);
        if (code == 0) {
            pid_t id = 0;
            code = posix_spawn(&id, program, &actions, &attributes, (char *const *)words, (char *const *)environment);
            *process = (int)id;
        }
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&actions);
    return code;
}

int64_t tr_raise_descriptors(int64_t wanted) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1024;
    rlim_t goal = (rlim_t)wanted < limit.rlim_max ? (rlim_t)wanted : limit.rlim_max;
    if (limit.rlim_cur < goal) {
        struct rlimit raised = {.rlim_cur = goal, .rlim_max = limit.rlim_max};
        if (setrlimit(RLIMIT_NOFILE, &raised) == 0) return (int64_t)goal;
    }
    return limit.rlim_cur > (rlim_t)INT64_MAX ? INT64_MAX : (int64_t)limit.rlim_cur;
}

int tr_own_place(const char *folder, unsigned int mask) {
    if (unshare(CLONE_FS) != 0) return errno;
    umask(mask);
    return chdir(folder) == 0 ? 0 : errno;
}
