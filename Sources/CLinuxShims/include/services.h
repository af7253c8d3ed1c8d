#ifndef TRANSFER_RUN_SERVICES_H
#define TRANSFER_RUN_SERVICES_H
#include <stddef.h>
#include <stdint.h>

// What a process that serves many others needs. epoll's structure is packed and holds a union, abstract addresses hold a
// zero, and the resource's name is an enumeration in one C library and a number in another: Swift gets plain numbers.

// Close-on-exec. -1 and errno.
int tr_epoll_make(void);
enum tr_epoll_change { tr_epoll_add, tr_epoll_modify, tr_epoll_remove };
// Level-triggered. `tag` comes back with what is ready.
int tr_epoll_set(
    int epoll, enum tr_epoll_change change, int descriptor, int is_reading, int is_writing, uint64_t tag);
struct tr_ready {
    uint64_t tag;
    // An end and an error count as both: the call that follows tells.
    int32_t can_read;
    int32_t can_write;
};
// How many are ready; -1 and errno.
int tr_epoll_wait(int epoll, struct tr_ready *ready, int count, int milliseconds);

// One datagram to a Unix socket; a name that begins with `@` is an abstract one. -1 and errno.
int tr_local_tell(const char *name, const void *bytes, size_t count);
// Whether it is a Unix stream socket that listens; from then on close-on-exec and not blocking.
int tr_local_adopt(int descriptor);

// Starts `program` apart from this process: a session of its own, `/` as its folder, nothing to read, nowhere to write but
// `errors`, no other descriptor, the default answer to every signal. 0, or an errno.
int tr_spawn_apart(
    const char *program, const char *const *words, const char *const *environment, int errors, int *process);
// Lets this process have up to `wanted` descriptors, as far as its hard limit goes. How many it may have now.
int64_t tr_raise_descriptors(int64_t wanted);
// From here on the calling thread, and the threads that it makes, have a working folder and a mask for new files of their
// own. 0, or the errno of the folder, which leaves it in the one it was in.
int tr_own_place(const char *folder, unsigned int mask);
#endif
