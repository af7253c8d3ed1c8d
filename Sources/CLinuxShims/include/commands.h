#ifndef TRANSFER_RUN_COMMANDS_H
#define TRANSFER_RUN_COMMANDS_H

// Spawning needs calls that are declared only under _GNU_SOURCE and types that Swift imports as opaque pointers.

// Starts `words[0]`, looked up in PATH when it has no slash, in a process group of its own, in `folder` (NULL: here),
// with the default answer to every signal and no descriptor but the three given. 0, or an errno.
int tr_spawn(
    const char *const *words, const char *const *environment, const char *folder, int input, int output, int errors,
    int *process);
// A descriptor that is readable once the process has ended; -1 and errno where the kernel has none.
int tr_process_descriptor(int process);
// Both ends close-on-exec and non-blocking; -1 and errno.
int tr_pipe(int ends[2]);
// Takes the process's end away: 0 and its status as `waitpid` tells it, or an errno.
int tr_reap(int process, int *exit_status, int *signal_number);

#endif
