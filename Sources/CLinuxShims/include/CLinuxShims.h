#ifndef TRANSFER_RUN_LINUX_SHIMS_H
#define TRANSFER_RUN_LINUX_SHIMS_H
#include <stddef.h>
#include <stdint.h>

#include "commands.h"
#include "confinement.h"
#include "crashes.h"
#include "local_sockets.h"
#include "route_sockets.h"
#include "services.h"
#include "tcp.h"

// Declared only under _GNU_SOURCE, which Swift's Glibc module is built without.
extern const int tr_O_TMPFILE;
extern const int tr_O_PATH;
extern const int tr_AT_EMPTY_PATH;
extern const int tr_RENAME_NOREPLACE;
extern const int tr_RENAME_EXCHANGE;
// Opens only what no link is on the way to, else ELOOP; ENOSYS before Linux 5.6, EPERM in some sandboxes.
int tr_open_without_links(const char *path, int flags);
int tr_syncfs(int descriptor);
int tr_renameat2(int old_folder, const char *old_path, int new_folder, const char *new_path, unsigned int flags);
// All of the file is handed to the disk, and awaited.
int tr_write_out(int descriptor);
// A part of it, and nobody waits.
void tr_begin_write_out(int descriptor, int64_t offset, int64_t count);
// Blocks of the disk for a part of the file, which is not longer for that.
int tr_take_room(int descriptor, int64_t offset, int64_t count);
// The bytes of another file of the same filesystem, shared on the disk until one of the two is written to (FICLONE).
int tr_clone_bytes(int descriptor, int from);
// 0, or -1 and errno: ETIMEDOUT when the monotonic clock reached the time first. `semaphore` is a sem_t.
int tr_semaphore_wait_until(void *semaphore, int64_t monotonic_nanoseconds);
// Only what lies in memory; EAGAIN where the disk would have to be waited for.
int64_t tr_read_now(int file, void *bytes, size_t count, int64_t offset);
int64_t tr_copy_file_range(int from, int to, size_t count);
// A global that Swift rejects as shared mutable state.
char **tr_environment(void);
// What the process was started with, the program's name first.
int tr_argument_count(void);
char **tr_arguments(void);
// What is given back stays with the process for the next who asks, up to so many bytes.
void tr_keep_memory(int bytes);
// What was given back by any thread goes to the system, as far as whole pages of it are free.
void tr_give_memory_back(void);
// The allocator keeps at most so many heaps, whatever the number of threads.
void tr_limit_arenas(int count);
void tr_thread_name(const char *name);

// `st_mtim` is reached through macros that Swift does not import.
struct tr_file_facts {
    uint64_t device;
    uint64_t inode;
    uint32_t mode;
    uint32_t owner;
    uint32_t group;
    int64_t size;
    int64_t modified_nanoseconds;
    int64_t changed_nanoseconds;
};
int tr_fstat(int descriptor, struct tr_file_facts *facts);
int tr_fstatat(int folder, const char *path, int follow_links, struct tr_file_facts *facts);
// The same and, in `born_nanoseconds`, when the file was made, which nothing changes; 0 where the filesystem does not know.
// An empty path is the descriptor itself.
int tr_statx(int folder, const char *path, int follow_links, struct tr_file_facts *facts, int64_t *born_nanoseconds);
// What one folder has of access lists and of a user's own attributes the other gets too, and no list beside. 0, or -1 and errno.
int tr_copy_attributes(int from, int to);
// What `statfs` calls the kind of the filesystem that a descriptor is of; 0 where it does not say.
uint32_t tr_filesystem_kind(int descriptor);
// Which mount a descriptor was opened on; 0 where the kernel (before 5.8) cannot tell.
uint64_t tr_mount_number(int descriptor);
#endif
