#ifndef TRANSFER_RUN_CRASHES_H
#define TRANSFER_RUN_CRASHES_H

// A handler of faults may call next to nothing, and nothing of Swift's.

// From now on this process writes a line to `descriptor` when it dies by a fault of its own. 0, or -1 and errno.
int tr_mark_crashes(int descriptor);
// So that the calling thread can do so even when its stack is used up; to be dropped before the thread ends.
void tr_own_signal_stack(void);
void tr_drop_signal_stack(void);

#endif
