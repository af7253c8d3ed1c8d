#define _GNU_SOURCE
#include "CSystemBus.h"

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-bus.h>
#include <time.h>
#include <unistd.h>

// The functions of libsystemd that are used, each under its own name and with its own prototype.
#define FUNCTIONS(each)                                                                                               \
    each(sd_bus_open_system) each(sd_bus_close_unref) each(sd_bus_set_method_call_timeout)                      \
    each(sd_bus_is_ready) each(sd_bus_process) each(sd_bus_wait) each(sd_bus_get_fd) each(sd_bus_get_events)          \
    each(sd_bus_get_timeout) each(sd_bus_add_match) each(sd_bus_call_method) each(sd_bus_get_property)                \
    each(sd_bus_get_property_trivial) each(sd_bus_get_property_string) each(sd_bus_message_read)                      \
    each(sd_bus_message_enter_container) each(sd_bus_message_unref)

#define DECLARE(name) static __typeof__(name) *f_##name;
FUNCTIONS(DECLARE)
static int is_loaded;

static void load(void) {
    void *library = dlopen("libsystemd.so.0", RTLD_NOW | RTLD_LOCAL);
    if (!library) return;
    is_loaded = 1;
#define FIND(name)                                                                                                    \
    f_##name = (__typeof__(name) *)dlsym(library, #name);                                                             \
    if (!f_##name) is_loaded = 0;
    FUNCTIONS(FIND)
}

struct tr_bus {
    sd_bus *bus;
    int has_changed;
};

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000 + (uint64_t)time.tv_nsec / 1000;
}

// Without a bus the library is not even looked for.
static int is_there(void) {
    const char *address = getenv("DBUS_SYSTEM_BUS_ADDRESS");
    return (address && *address) || access("/run/dbus/system_bus_socket", F_OK) == 0;
}

// libsystemd would wait 90 seconds for a bus that says nothing.
static int await_ready(sd_bus *bus, uint64_t timeout) {
    uint64_t end = now() + timeout;
    while (1) {
        int result = f_sd_bus_is_ready(bus);
        if (result != 0) return result;
        result = f_sd_bus_process(bus, NULL);
        if (result < 0) return result;
        if (result > 0) continue;
        uint64_t time = now();
        if (time >= end) return -ETIMEDOUT;
        result = f_sd_bus_wait(bus, end - time);
        if (result < 0 && result != -EINTR) return result;
    }
}

struct tr_bus *tr_bus_open(uint64_t timeout_microseconds) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (!is_there()) return NULL;
    pthread_once(&once, load);
    if (!is_loaded) return NULL;
    sd_bus *raw = NULL;
    if (f_sd_bus_open_system(&raw) < 0) return NULL;
    struct tr_bus *bus = calloc(1, sizeof *bus);
    if (!bus || f_sd_bus_set_method_call_timeout(raw, timeout_microseconds) < 0 ||
        await_ready(raw, timeout_microseconds) < 0) {
        f_sd_bus_close_unref(raw);
        free(bus);
        return NULL;
    }
    bus->bus = raw;
    return bus;
}

void tr_bus_close(struct tr_bus *bus) {
    f_sd_bus_close_unref(bus->bus);
    free(bus);
}

int tr_bus_descriptor(struct tr_bus *bus) { return f_sd_bus_get_fd(bus->bus); }

int tr_bus_wants_writing(struct tr_bus *bus) {
    int events = f_sd_bus_get_events(bus->bus);
    return events > 0 && (events & POLLOUT) != 0;
}

uint64_t tr_bus_due(struct tr_bus *bus) {
    uint64_t due = UINT64_MAX;
    if (f_sd_bus_get_timeout(bus->bus, &due) < 0) return UINT64_MAX;
    return due;
}

int tr_bus_process(struct tr_bus *bus) {
    // A flood must not keep the caller from the rest of its work: what is left wakes it again.
    for (int count = 0; count < 1000; count++) {
        int result = f_sd_bus_process(bus->bus, NULL);
        if (result < 0) return result;
        if (result == 0) break;
    }
    int has_changed = bus->has_changed;
    bus->has_changed = 0;
    return has_changed;
}

static int note_change(sd_bus_message *message, void *context, sd_bus_error *error) {
    (void)message, (void)error;
    ((struct tr_bus *)context)->has_changed = 1;
    return 0;
}

int tr_bus_match(struct tr_bus *bus, const char *rule) {
    return f_sd_bus_add_match(bus->bus, NULL, rule, note_change, bus);
}

int tr_bus_has_owner(struct tr_bus *bus, const char *name) {
    sd_bus_message *reply = NULL;
    int is_owned = 0;
    int result = f_sd_bus_call_method(
        bus->bus, "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "NameHasOwner", NULL,
        &reply, "s", name);
    if (result >= 0) result = f_sd_bus_message_read(reply, "b", &is_owned);
    f_sd_bus_message_unref(reply);
    return result < 0 ? result : is_owned != 0;
}

int tr_bus_get_u32(
    struct tr_bus *bus, const char *name, const char *path, const char *interface, const char *property,
    uint32_t *value) {
    return f_sd_bus_get_property_trivial(bus->bus, name, path, interface, property, NULL, 'u', value);
}

int tr_bus_get_bool(
    struct tr_bus *bus, const char *name, const char *path, const char *interface, const char *property, int *value) {
    return f_sd_bus_get_property_trivial(bus->bus, name, path, interface, property, NULL, 'b', value);
}

int tr_bus_get_double(
    struct tr_bus *bus, const char *name, const char *path, const char *interface, const char *property,
    double *value) {
    return f_sd_bus_get_property_trivial(bus->bus, name, path, interface, property, NULL, 'd', value);
}

int tr_bus_get_string(
    struct tr_bus *bus, const char *name, const char *path, const char *interface, const char *property,
    char **value) {
    return f_sd_bus_get_property_string(bus->bus, name, path, interface, property, NULL, value);
}

int tr_bus_call_for_paths(
    struct tr_bus *bus, const char *name, const char *path, const char *interface, const char *method,
    void (*take)(void *context, const char *path), void *context) {
    sd_bus_message *reply = NULL;
    int result = f_sd_bus_call_method(bus->bus, name, path, interface, method, NULL, &reply, "");
    if (result >= 0) result = f_sd_bus_message_enter_container(reply, SD_BUS_TYPE_ARRAY, "o");
    const char *found = NULL;
    while (result >= 0 && (result = f_sd_bus_message_read(reply, "o", &found)) > 0) take(context, found);
    f_sd_bus_message_unref(reply);
    return result;
}
