#ifndef TRANSFER_RUN_CONFINEMENT_H
#define TRANSFER_RUN_CONFINEMENT_H
#include <stdint.h>

// What the kernel holds a process to that runs a stranger's job. Landlock's structures are younger than the headers that
// this is built with, and a seccomp filter is a program of instructions. Each returns 0 or a descriptor, or -1 and errno.

// Neither this process nor what it starts gets rights from a program's owner.
int tr_no_new_privileges(void);
// Other processes of the user may not look into this one, and no core of it is written.
int tr_hide_memory(void);

// The version of Landlock: 0 where the kernel has none, or has it switched off.
int tr_landlock_version(void);
// What a rule allows below a file or folder.
enum tr_landlock_leave {
    tr_landlock_reads,
    tr_landlock_writes,
    // Writes, and makes Unix sockets.
    tr_landlock_listens,
};
// Rules that allow nothing of files, and where the version has it no signal or abstract socket to what is outside.
int tr_landlock_for_files(int version);
// The same for connections: no port, from version 4 on.
int tr_landlock_for_ports(void);
int tr_landlock_allow(int rules, int version, int place, enum tr_landlock_leave leave);
int tr_landlock_allow_port(int rules, uint16_t port);
// From here on the calling thread, and those that it makes, are held to these rules and to the earlier ones.
int tr_landlock_enter(int rules);

// No program is started, no other process looked into or sent a signal, no file cut by its path, and no socket made but of
// IP, Unix and routing.
int tr_refuse_calls(void);
// Whether the kernel can do so.
int tr_can_refuse_calls(void);
// No further Unix socket, in all threads of this process.
int tr_refuse_local_sockets(void);

// Opens what lies beneath the folder: EXDEV where the path leads out of it by `..`, a link or an absolute link, ELOOP at a
// link of the kernel's own, or with `without_links` at any. ENOSYS before Linux 5.6.
int tr_open_beneath(int folder, const char *path, int flags, unsigned int mode, int without_links);
#endif
