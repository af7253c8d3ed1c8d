#define _GNU_SOURCE
#include "confinement.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

int tr_no_new_privileges(void) { return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); }

int tr_hide_memory(void) { return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); }

// MARK: Landlock

// As in <linux/landlock.h>, which older systems lack or have without the later members.
struct rules {
    uint64_t files;
    uint64_t ports;
    uint64_t scopes;
};
struct place_rule {
    uint64_t allowed;
    int32_t place;
} __attribute__((packed));
struct port_rule {
    uint64_t allowed;
    uint64_t port;
};
enum { place_rule_kind = 1, port_rule_kind = 2 };
enum { create_rules = 444, add_rule = 445, enter_rules = 446 };
enum { asks_version = 1 };

enum {
    executes = 1 << 0,
    writes_file = 1 << 1,
    reads_file = 1 << 2,
    reads_folder = 1 << 3,
    removes_folder = 1 << 4,
    removes_file = 1 << 5,
    makes_folder = 1 << 7,
    makes_file = 1 << 8,
    makes_socket = 1 << 9,
    makes_link = 1 << 12,
    // From version 2.
    moves = 1 << 13,
    // From version 3.
    cuts = 1 << 14,
    // From version 5.
    controls_device = 1 << 15,
};
enum { listens_at_port = 1 << 0, connects_to_port = 1 << 1 };
enum { abstract_sockets = 1 << 0, signals = 1 << 1 };

static uint64_t known(int version) {
    uint64_t all = moves - 1;
    if (version >= 2) all |= moves;
    if (version >= 3) all |= cuts;
    if (version >= 5) all |= controls_device;
    return all;
}

int tr_landlock_version(void) {
    long version = syscall(create_rules, NULL, 0, asks_version);
    return version < 0 ? 0 : (int)version;
}

int tr_landlock_for_files(int version) {
    struct rules rules = {.files = known(version), .scopes = version >= 6 ? abstract_sockets | signals : 0};
    size_t size = version >= 6 ? sizeof rules : offsetof(struct rules, ports);
    return (int)syscall(create_rules, &rules, size, 0);
}

int tr_landlock_for_ports(void) {
    // Moving between folders is refused by any rules that do not allow it, those about ports included.
    struct rules rules = {.files = moves, .ports = listens_at_port | connects_to_port};
    int made = (int)syscall(create_rules, &rules, offsetof(struct rules, scopes), 0);
    if (made < 0) return -1;
    int root = open("/", O_PATH | O_CLOEXEC);
    struct place_rule anywhere = {.allowed = moves, .place = root};
    // A connection from an address of its own is bound to port 0 first.
    struct port_rule rule = {.allowed = listens_at_port};
    int failed = syscall(add_rule, made, place_rule_kind, &anywhere, 0) != 0 ||
        syscall(add_rule, made, port_rule_kind, &rule, 0) != 0;
    int code = errno;
    close(root);
    if (!failed) return made;
    close(made);
    errno = code;
    return -1;
}

int tr_landlock_allow(int rules, int version, int place, enum tr_landlock_leave leave) {
    uint64_t allowed = reads_file | reads_folder;
    if (leave != tr_landlock_reads) {
        allowed |= writes_file | removes_folder | removes_file | makes_folder | makes_file | makes_link | moves | cuts;
    }
    if (leave == tr_landlock_listens) allowed |= makes_socket;
    struct stat status;
    if (fstat(place, &status) != 0) return -1;
    if (!S_ISDIR(status.st_mode)) allowed &= reads_file | writes_file | cuts;
    struct place_rule rule = {.allowed = allowed & known(version), .place = place};
    return (int)syscall(add_rule, rules, place_rule_kind, &rule, 0);
}

int tr_landlock_allow_port(int rules, uint16_t port) {
    struct port_rule rule = {.allowed = connects_to_port, .port = port};
    return (int)syscall(add_rule, rules, port_rule_kind, &rule, 0);
}

int tr_landlock_enter(int rules) { return (int)syscall(enter_rules, rules, 0); }

// MARK: Calls

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

#define FIELD(name) (uint32_t) offsetof(struct seccomp_data, name)
// The lower half of an argument: both machines are little-endian.
#define ARGUMENT(number) (uint32_t)(offsetof(struct seccomp_data, args) + 8 * (number))
#define REFUSED(code) (SECCOMP_RET_ERRNO | (code))
enum { most_steps = 256 };

struct filter {
    struct sock_filter steps[most_steps];
    unsigned short count;
};

static void load(struct filter *filter, uint32_t offset) {
    filter->steps[filter->count++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset);
}

static void answer(struct filter *filter, uint32_t with) {
    filter->steps[filter->count++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, with);
}

// The next `count` steps are left out if what was loaded is this, or with `unless` if it is another.
static void skip(struct filter *filter, uint32_t value, unsigned char count, int unless) {
    filter->steps[filter->count++] = (struct sock_filter)BPF_JUMP(
        BPF_JMP | BPF_JEQ | BPF_K, value, unless ? 0 : count, unless ? count : 0);
}

static int install(struct filter *filter, unsigned int flags) {
    struct sock_fprog program = {.len = filter->count, .filter = filter->steps};
    long result = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
    // With SECCOMP_FILTER_FLAG_TSYNC a number is the thread that could not follow.
    if (result > 0) errno = EBUSY;
    return result == 0 ? 0 : -1;
}

#ifdef ARCHITECTURE
// Numbers that older headers lack are the same on all machines.
static const int refused[] = {
    // Programs.
    SYS_execve, SYS_execveat,
    // Other processes.
    SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_kcmp, SYS_tkill, SYS_rt_sigqueueinfo,
    SYS_rt_tgsigqueueinfo, 424 /* pidfd_send_signal */, 438 /* pidfd_getfd */, 440 /* process_madvise */,
    // What goes past this filter or past Landlock.
    425 /* io_uring_setup */, 426 /* io_uring_enter */, 427 /* io_uring_register */, SYS_open_by_handle_at, SYS_bpf,
    SYS_perf_event_open, SYS_userfaultfd, SYS_add_key, SYS_request_key, SYS_keyctl,
    // Before Landlock 3 a file can be cut anywhere.
    SYS_truncate,
    // What only root may do.
    SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot, 428 /* open_tree */, 429 /* move_mount */, 430 /* fsopen */,
    431 /* fsconfig */, 432 /* fsmount */, 433 /* fspick */, 442 /* mount_setattr */, SYS_unshare, SYS_setns,
    SYS_init_module, SYS_finit_module, SYS_delete_module, SYS_kexec_load, SYS_reboot, SYS_swapon, SYS_swapoff, SYS_acct,
    SYS_quotactl,
#ifdef SYS_kexec_file_load
    SYS_kexec_file_load,
#endif
};

static void begin(struct filter *filter) {
    load(filter, FIELD(arch));
    skip(filter, ARCHITECTURE, 1, 0);
    answer(filter, REFUSED(EPERM));
    load(filter, FIELD(nr));
#ifdef __x86_64__
    // The other set of numbers that the same machine understands.
    filter->steps[filter->count++] =
        (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1);
    answer(filter, REFUSED(EPERM));
#endif
}

int tr_refuse_calls(void) {
    struct filter filter = {.count = 0};
    uint32_t self = (uint32_t)getpid();
    begin(&filter);
    for (size_t index = 0; index < sizeof refused / sizeof *refused; index++) {
        skip(&filter, (uint32_t)refused[index], 1, 1);
        answer(&filter, REFUSED(EPERM));
    }
    // socket: IP, Unix and routing.
    skip(&filter, SYS_socket, 7, 1);
    load(&filter, ARGUMENT(0));
    skip(&filter, AF_INET, 4, 0);
    skip(&filter, AF_INET6, 3, 0);
    skip(&filter, AF_UNIX, 2, 0);
    skip(&filter, AF_NETLINK, 1, 0);
    answer(&filter, REFUSED(EAFNOSUPPORT));
    answer(&filter, SECCOMP_RET_ALLOW);
    // tgkill: to a thread of this process.
    skip(&filter, SYS_tgkill, 4, 1);
    load(&filter, ARGUMENT(0));
    skip(&filter, self, 1, 0);
    answer(&filter, REFUSED(EPERM));
    answer(&filter, SECCOMP_RET_ALLOW);
    // kill: to this process, or only to ask whether one is there.
    skip(&filter, SYS_kill, 6, 1);
    load(&filter, ARGUMENT(0));
    skip(&filter, self, 3, 0);
    load(&filter, ARGUMENT(1));
    skip(&filter, 0, 1, 0);
    answer(&filter, REFUSED(EPERM));
    answer(&filter, SECCOMP_RET_ALLOW);
    answer(&filter, SECCOMP_RET_ALLOW);
    return install(&filter, 0);
}

int tr_refuse_local_sockets(void) {
    struct filter filter = {.count = 0};
    begin(&filter);
    skip(&filter, SYS_socket, 3, 1);
    load(&filter, ARGUMENT(0));
    skip(&filter, AF_UNIX, 1, 1);
    answer(&filter, REFUSED(EACCES));
    answer(&filter, SECCOMP_RET_ALLOW);
    return install(&filter, SECCOMP_FILTER_FLAG_TSYNC);
}

int tr_can_refuse_calls(void) {
    uint32_t action = SECCOMP_RET_ERRNO;
    return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}
#else
int tr_can_refuse_calls(void) { return 0; }

int tr_refuse_calls(void) {
    errno = ENOSYS;
    return -1;
}

int tr_refuse_local_sockets(void) {
    errno = ENOSYS;
    return -1;
}
#endif

// MARK: Paths

// As in <linux/openat2.h>.
struct open_how_beneath {
    uint64_t flags;
    uint64_t mode;
    uint64_t resolve;
};
enum { no_magic_links = 0x02, no_links = 0x04, beneath = 0x08 };

int tr_open_beneath(int folder, const char *path, int flags, unsigned int mode, int without_links) {
    struct open_how_beneath how = {
        .flags = (unsigned int)flags,
        // Any mode is an error where no file is made.
        .mode = flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? mode & 07777 : 0,
        .resolve = beneath | no_magic_links | (without_links ? no_links : 0),
    };
    // EAGAIN: somebody moved a folder meanwhile, and the kernel could not tell whether `..` led out.
    for (int round = 0;; round++) {
        int opened = (int)syscall(437 /* openat2 */, folder, path, &how, sizeof how);
        if (opened >= 0 || errno != EAGAIN || round == 100) return opened;
    }
}
