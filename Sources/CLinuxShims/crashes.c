#define _GNU_SOURCE
#include "crashes.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static int mark = -1;
static const int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP};
enum { fault_count = sizeof faults / sizeof faults[0] };

// The default answer is back by now (SA_RESETHAND): what the signal was for happens again, or it is sent again.
static void crashed(int number) {
    if (mark >= 0) (void)!write(mark, "crashed\n", 8);
    raise(number);
}

int tr_mark_crashes(int descriptor) {
    mark = descriptor;
    struct sigaction action = {.sa_handler = crashed, .sa_flags = SA_RESETHAND | SA_NODEFER | SA_ONSTACK};
    sigemptyset(&action.sa_mask);
    for (int index = 0; index < fault_count; index++) {
        if (sigaction(faults[index], &action, NULL) != 0) return -1;
    }
    return 0;
}

void tr_own_signal_stack(void) {
    enum { size = 64 << 10 };
    stack_t stack = {.ss_sp = malloc(size), .ss_size = size};
    if (stack.ss_sp != NULL) sigaltstack(&stack, NULL);
}

void tr_drop_signal_stack(void) {
    stack_t none = {.ss_flags = SS_DISABLE}, old = {.ss_sp = NULL};
    if (sigaltstack(&none, &old) == 0 && !(old.ss_flags & SS_DISABLE)) free(old.ss_sp);
}
