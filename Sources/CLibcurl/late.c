#include "shim.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

// What Swift calls, under its own name: each goes on to where the library has it. What is left out here does not link.
#define LATE(X) \
    X(CURL *, easy_init, (void), ()) \
    X(void, easy_cleanup, (CURL *easy), (easy)) \
    X(void, easy_reset, (CURL *easy), (easy)) \
    X(CURLcode, easy_pause, (CURL *easy, int what), (easy, what)) \
    X(const char *, easy_strerror, (CURLcode code), (code)) \
    X(CURLcode, global_init, (long what), (what)) \
    X(CURLMcode, multi_add_handle, (CURLM *multi, CURL *easy), (multi, easy)) \
    X(CURLMcode, multi_cleanup, (CURLM *multi), (multi)) \
    X(CURLMsg *, multi_info_read, (CURLM *multi, int *left), (multi, left)) \
    X(CURLM *, multi_init, (void), ()) \
    X(CURLMcode, multi_perform, (CURLM *multi, int *running), (multi, running)) \
    X(CURLMcode, multi_poll, (CURLM *multi, struct curl_waitfd *others, unsigned count, int wait, int *ready), \
      (multi, others, count, wait, ready)) \
    X(CURLMcode, multi_remove_handle, (CURLM *multi, CURL *easy), (multi, easy)) \
    X(const char *, multi_strerror, (CURLMcode code), (code)) \
    X(CURLMcode, multi_wakeup, (CURLM *multi), (multi)) \
    X(CURLSHcode, share_cleanup, (CURLSH *share), (share)) \
    X(CURLSH *, share_init, (void), ()) \
    X(struct curl_slist *, slist_append, (struct curl_slist *list, const char *line), (list, line)) \
    X(void, slist_free_all, (struct curl_slist *list), (list)) \
    X(curl_version_info_data *, version_info, (CURLversion what), (what))

#define FORWARD(result, name, parameters, arguments) \
    static result(*late_##name) parameters; \
    result curl_##name parameters { return late_##name arguments; }
LATE(FORWARD)

CURLcode (*tr_curl_easy_setopt)(CURL *, CURLoption, ...);
CURLcode (*tr_curl_easy_getinfo)(CURL *, CURLINFO, ...);
CURLMcode (*tr_curl_multi_setopt)(CURLM *, CURLMoption, ...);
CURLSHcode (*tr_curl_share_setopt)(CURLSH *, CURLSHoption, ...);

static char problem[512];

static void find(void *library, const char *name, void **place) {
    *place = dlsym(library, name);
    if (!*place && !problem[0]) snprintf(problem, sizeof problem, "%s", dlerror());
}

static void load(void) {
    void *library = dlopen("libcurl.so.4", RTLD_LAZY | RTLD_LOCAL);
    if (!library) {
        snprintf(problem, sizeof problem, "%s", dlerror());
        return;
    }
#define FIND(result, name, parameters, arguments) find(library, "curl_" #name, (void **)&late_##name);
    LATE(FIND)
    find(library, "curl_easy_setopt", (void **)&tr_curl_easy_setopt);
    find(library, "curl_easy_getinfo", (void **)&tr_curl_easy_getinfo);
    find(library, "curl_multi_setopt", (void **)&tr_curl_multi_setopt);
    find(library, "curl_share_setopt", (void **)&tr_curl_share_setopt);
}

const char *tr_curl_load(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return problem[0] ? problem : 0;
}
