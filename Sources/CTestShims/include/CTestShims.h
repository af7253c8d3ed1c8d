#ifndef TRANSFER_RUN_TEST_SHIMS_H
#define TRANSFER_RUN_TEST_SHIMS_H
#include <spawn.h>
#include <sys/socket.h>

// Calls that glibc declares only for _GNU_SOURCE, which Swift's Glibc module is built without. Descriptors must be
// close-on-exec from their first moment: another test may be starting a program.
int tr_test_accept(int listener, struct sockaddr *address, socklen_t *length);
int tr_test_pipe(int ends[2]);
int tr_test_spawn_in_folder(posix_spawn_file_actions_t *actions, const char *folder);
int tr_test_spawn_close_from(posix_spawn_file_actions_t *actions, int first);
// The calling thread's network from now on.
int tr_test_enter_network(int space);
// Extended attributes. 0 or the size; -1 for what cannot be.
int tr_test_set_attribute(const char *path, const char *name, const void *value, size_t size);
long tr_test_attribute(const char *path, const char *name, void *value, size_t size);
#endif
