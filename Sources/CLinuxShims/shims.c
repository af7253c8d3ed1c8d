#define _GNU_SOURCE
#include "CLinuxShims.h"

#include <errno.h>

#include <fcntl.h>
#include <linux/fs.h>
#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

const int tr_O_TMPFILE = O_TMPFILE;
const int tr_O_PATH = O_PATH;
const int tr_AT_EMPTY_PATH = AT_EMPTY_PATH;
const int tr_RENAME_NOREPLACE = RENAME_NOREPLACE;
const int tr_RENAME_EXCHANGE = RENAME_EXCHANGE;

// As in <linux/openat2.h>, which older systems lack.
struct open_how_links {
    uint64_t flags;
    uint64_t mode;
    uint64_t resolve;
};
#ifndef SYS_openat2
#define SYS_openat2 437
#endif

int tr_open_without_links(const char *path, int flags) {
    struct open_how_links how = {.flags = (unsigned int)flags, .resolve = 0x04 /* RESOLVE_NO_SYMLINKS */};
    return (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
}

int tr_syncfs(int descriptor) { return syncfs(descriptor); }

int tr_renameat2(int old_folder, const char *old_path, int new_folder, const char *new_path, unsigned int flags) {
    return renameat2(old_folder, old_path, new_folder, new_path, flags);
}

int tr_write_out(int descriptor) {
    return sync_file_range(
        descriptor, 0, 0,
        SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
}

void tr_begin_write_out(int descriptor, int64_t offset, int64_t count) {
    (void)sync_file_range(descriptor, offset, count, SYNC_FILE_RANGE_WRITE);
}

int tr_take_room(int descriptor, int64_t offset, int64_t count) {
    return fallocate(descriptor, FALLOC_FL_KEEP_SIZE, offset, count);
}

int tr_clone_bytes(int descriptor, int from) { return ioctl(descriptor, FICLONE, from); }

int tr_semaphore_wait_until(void *semaphore, int64_t monotonic_nanoseconds) {
    struct timespec time = {.tv_sec = monotonic_nanoseconds / 1000000000, .tv_nsec = monotonic_nanoseconds % 1000000000};
    return sem_clockwait(semaphore, CLOCK_MONOTONIC, &time);
}

int64_t tr_read_now(int file, void *bytes, size_t count, int64_t offset) {
    struct iovec piece = {.iov_base = bytes, .iov_len = count};
    return preadv2(file, &piece, 1, offset, RWF_NOWAIT);
}

int64_t tr_copy_file_range(int from, int to, size_t count) {
    return copy_file_range(from, NULL, to, NULL, count, 0);
}

char **tr_environment(void) { return environ; }

static int argument_count;
static char **arguments;

// glibc hands them to every constructor.
__attribute__((constructor)) static void keep_arguments(int count, char **words) {
    argument_count = count;
    arguments = words;
}

int tr_argument_count(void) { return argument_count; }
char **tr_arguments(void) { return arguments; }

void tr_thread_name(const char *name) { pthread_setname_np(pthread_self(), name); }

static void fill(const struct stat *status, struct tr_file_facts *facts) {
    facts->device = status->st_dev;
    facts->inode = status->st_ino;
    facts->mode = status->st_mode;
    facts->owner = status->st_uid;
    facts->group = status->st_gid;
    facts->size = status->st_size;
    facts->modified_nanoseconds = (int64_t)status->st_mtim.tv_sec * 1000000000 + status->st_mtim.tv_nsec;
    facts->changed_nanoseconds = (int64_t)status->st_ctim.tv_sec * 1000000000 + status->st_ctim.tv_nsec;
}

int tr_fstat(int descriptor, struct tr_file_facts *facts) {
    struct stat status;
    if (fstat(descriptor, &status) != 0) return -1;
    fill(&status, facts);
    return 0;
}

int tr_fstatat(int folder, const char *path, int follow_links, struct tr_file_facts *facts) {
    struct stat status;
    if (fstatat(folder, path, &status, follow_links ? 0 : AT_SYMLINK_NOFOLLOW) != 0) return -1;
    fill(&status, facts);
    return 0;
}

int tr_statx(int folder, const char *path, int follow_links, struct tr_file_facts *facts, int64_t *born_nanoseconds) {
    struct statx status;
    *born_nanoseconds = 0;
    int flags = AT_EMPTY_PATH | (follow_links ? 0 : AT_SYMLINK_NOFOLLOW);
    if (statx(folder, path, flags, STATX_BASIC_STATS | STATX_BTIME, &status) != 0) {
        // Some sandboxes allow only the older call.
        if (errno != ENOSYS && errno != EPERM) return -1;
        return *path ? tr_fstatat(folder, path, follow_links, facts) : tr_fstat(folder, facts);
    }
    facts->device = makedev(status.stx_dev_major, status.stx_dev_minor);
    facts->inode = status.stx_ino;
    facts->mode = status.stx_mode;
    facts->owner = status.stx_uid;
    facts->group = status.stx_gid;
    facts->size = status.stx_size;
    facts->modified_nanoseconds = (int64_t)status.stx_mtime.tv_sec * 1000000000 + status.stx_mtime.tv_nsec;
    facts->changed_nanoseconds = (int64_t)status.stx_ctime.tv_sec * 1000000000 + status.stx_ctime.tv_nsec;
    if (status.stx_mask & STATX_BTIME) {
        *born_nanoseconds = (int64_t)status.stx_btime.tv_sec * 1000000000 + status.stx_btime.tv_nsec;
    }
    return 0;
}

uint32_t tr_filesystem_kind(int descriptor) {
    struct statfs status;
    return fstatfs(descriptor, &status) == 0 ? (uint32_t)status.f_type : 0;
}

uint64_t tr_mount_number(int descriptor) {
    struct statx status;
    if (statx(descriptor, "", AT_EMPTY_PATH, STATX_MNT_ID, &status) != 0) return 0;
    return status.stx_mask & STATX_MNT_ID ? status.stx_mnt_id : 0;
}

void tr_give_memory_back(void) { malloc_trim(0); }

void tr_limit_arenas(int count) { mallopt(M_ARENA_MAX, count); }

void tr_keep_memory(int bytes) {
    mallopt(M_MMAP_THRESHOLD, bytes);
    mallopt(M_TRIM_THRESHOLD, bytes);
}
