#ifndef TRANSFER_RUN_LATE_H
#define TRANSFER_RUN_LATE_H

// Functions of libraries that a run may need, but not to begin. What the dynamic linker fetches before the first line of a
// program takes longer than reading a small job, most of it for OpenSSL: these libraries are fetched when something of them
// is first called.
//
// A table names each function once, as X(result, name, parameters, arguments), and is read twice: by the header that Swift
// sees (LATE_LABEL: a call of it is a call of ours) and by the C file that defines ours (LATE_CALL). What is left out there
// does not link.

#define LATE_LABEL(result, name, parameters, arguments) extern result name parameters __asm__("late_" #name);

// LATE_LIBRARY is the file's name, as the dynamic linker knows it.
#define LATE_CALL(result, name, parameters, arguments) \
    result name parameters { \
        static __typeof__(name) *known; \
        __typeof__(name) *place = __atomic_load_n(&known, __ATOMIC_ACQUIRE); \
        if (!place) { \
            place = (__typeof__(name) *)tr_late_find(LATE_LIBRARY, #name); \
            __atomic_store_n(&known, place, __ATOMIC_RELEASE); \
        } \
        return place arguments; \
    }

// Whether the library can be loaded, asked before something of it is called: nothing, or what is in the way.
#define LATE_LACK(function) \
    const char *function(void) { \
        static _Bool is_there; \
        if (__atomic_load_n(&is_there, __ATOMIC_ACQUIRE)) return 0; \
        const char *lack = tr_late_lack(LATE_LIBRARY); \
        if (!lack) __atomic_store_n(&is_there, 1, __ATOMIC_RELEASE); \
        return lack; \
    }
const char *tr_late_lack(const char *library);

// Without it there is no going on: the process says so and ends with status 4.
void *tr_late_find(const char *library, const char *function);
// As `dlopen`: what is wrong is for `dlerror` to say.
void *tr_late_open(const char *library);
#endif
