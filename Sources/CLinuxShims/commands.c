#define _GNU_SOURCE
#include "commands.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int prepare(
    posix_spawn_file_actions_t *actions, posix_spawnattr_t *attributes, const char *folder, int input, int output,
    int errors) {
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    int code = posix_spawn_file_actions_adddup2(actions, input, 0);
    if (code == 0) code = posix_spawn_file_actions_adddup2(actions, output, 1);
    if (code == 0) code = posix_spawn_file_actions_adddup2(actions, errors, 2);
    if (code == 0) code = posix_spawn_file_actions_addclosefrom_np(actions, 3);
    if (code == 0 && folder) code = posix_spawn_file_actions_addchdir_np(actions, folder);
    if (code == 0) code = posix_spawnattr_setsigmask(attributes, &none);
    if (code == 0) code = posix_spawnattr_setsigdefault(attributes, &all);
    if (code == 0) code = posix_spawnattr_setpgroup(attributes, 0);
    if (code == 0) {
        code = posix_spawnattr_setflags(
            attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    }
    return code;
}

int tr_spawn(
    const char *const *words, const char *const *environment, const char *folder, int input, int output, int errors,
    int *process) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int code = posix_spawn_file_actions_init(&actions);
    if (code != 0) return code;
    code = posix_spawnattr_init(&attributes);
    if (code == 0) {
        code = prepare(&actions, &attributes, folder, input, output, errors);
        if (code == 0) {
            pid_t id = 0;
            code = posix_spawnp(&id, words[0], &actions, &attributes, (char *const *)words, (char *const *)environment);
            *process = (int)id;
        }
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&actions);
    return code;
}

int tr_process_descriptor(int process) { return (int)syscall(SYS_pidfd_open, process, 0); }

int tr_pipe(int ends[2]) { return pipe2(ends, O_CLOEXEC | O_NONBLOCK); }

int tr_reap(int process, int *exit_status, int *signal_number) {
    int status = 0;
    pid_t ended;
    do { ended = waitpid(process, &status, 0); } while (ended < 0 && errno == EINTR);
    if (ended < 0) return errno;
    *exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    *signal_number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    return 0;
}
