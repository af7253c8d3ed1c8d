#ifndef TRANSFER_RUN_SYSTEM_BUS_H
#define TRANSFER_RUN_SYSTEM_BUS_H
#include <stdint.h>

// The system's D-Bus through libsystemd, which is looked for only when somebody asks: linked, it and what it brings
// along would cost every start of the program. All functions belong to one thread at a time; none waits longer than
// the time given. Errors are negative errnos.
struct tr_bus;

// NULL where there is no library, no bus, or one that does not answer in time.
struct tr_bus *tr_bus_open(uint64_t timeout_microseconds);
void tr_bus_close(struct tr_bus *bus);

// What to poll for, and until when at most: microseconds of the monotonic clock, UINT64_MAX for ever.
int tr_bus_descriptor(struct tr_bus *bus);
int tr_bus_wants_writing(struct tr_bus *bus);
uint64_t tr_bus_due(struct tr_bus *bus);
// Takes in what has come. 1: something that was matched; 0: nothing of the kind; negative: the bus is gone.
int tr_bus_process(struct tr_bus *bus);
int tr_bus_match(struct tr_bus *bus, const char *rule);

// 1 when somebody has the name now; nobody is started for being asked.
int tr_bus_has_owner(struct tr_bus *bus, const char *name);
int tr_bus_get_u32(
    struct tr_bus *bus, const char *name, const char *path, const char *interface, const char *property,
    uint32_t *value);
int tr_bus_get_bool(
    struct tr_bus *bus, const char *name, const char *path, const char *interface, const char *property, int *value);
int tr_bus_get_double(
    struct tr_bus *bus, const char *name, const char *path, const char *interface, const char *property,
    double *value);
// The text is the caller's to free.
int tr_bus_get_string(
    struct tr_bus *bus, const char *name, const char *path, const char *interface, const char *property,
    char **value);
// Calls a method that takes nothing and gives object paths; `take` gets each of them.
int tr_bus_call_for_paths(
    struct tr_bus *bus, const char *name, const char *path, const char *interface, const char *method,
    void (*take)(void *context, const char *path), void *context);
#endif
