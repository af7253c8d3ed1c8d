#ifndef TRANSFER_RUN_CURL_SHIM_H
#define TRANSFER_RUN_CURL_SHIM_H
#include <curl/curl.h>
#include <stdint.h>

#include "functions.h"
#include <late.h>
LATE_CURL(LATE_LABEL)

// libcurl is loaded, with the libraries that it needs, when one of its functions is first called: a short command may
// need none (docs/performance.md). A build with STATIC=1 has libcurl and OpenSSL linked in, and loads a library for
// Negotiate alone. Loads what `need` takes; returns 0, or the dynamic linker's words about what cannot be loaded.
enum tr_curl_need { tr_curl_itself, tr_curl_handshake, tr_curl_negotiate };
const char *tr_curl_lacks(enum tr_curl_need need);
#ifdef TRANSFER_RUN_IS_STATIC
const char *tr_gssapi_lack(void);
#endif

// Where this system keeps its certificate authorities, as one file and as a folder with a file for each; 0 where libcurl
// knows that itself, because it is the system's.
const char *tr_curl_authorities(void);
const char *tr_curl_authority_folder(void);

// The version of the libcurl that is used; 0 when it cannot be loaded.
const char *tr_curl_version_text(void);

// No function can go on to one that is variadic: these say where it is.
__typeof__(&curl_easy_setopt) tr_curl_easy_setopt(void);
__typeof__(&curl_easy_getinfo) tr_curl_easy_getinfo(void);
__typeof__(&curl_multi_setopt) tr_curl_multi_setopt(void);
__typeof__(&curl_share_setopt) tr_curl_share_setopt(void);

// curl_easy_setopt, curl_multi_setopt, curl_share_setopt and curl_easy_getinfo are variadic, which Swift cannot
// call: one typed wrapper per kind of argument, so that a value of the wrong width does not compile.
static inline CURLcode tr_easy_set_long(CURL *easy, CURLoption option, long value) {
    return tr_curl_easy_setopt()(easy, option, value);
}
static inline CURLcode tr_easy_set_offset(CURL *easy, CURLoption option, int64_t value) {
    return tr_curl_easy_setopt()(easy, option, (curl_off_t)value);
}
static inline CURLcode tr_easy_set_string(CURL *easy, CURLoption option, const char *value) {
    return tr_curl_easy_setopt()(easy, option, value);
}
static inline CURLcode tr_easy_set_pointer(CURL *easy, CURLoption option, void *value) {
    return tr_curl_easy_setopt()(easy, option, value);
}
static inline CURLcode tr_easy_set_list(CURL *easy, CURLoption option, struct curl_slist *value) {
    return tr_curl_easy_setopt()(easy, option, value);
}
typedef size_t (*tr_data_callback)(char *, size_t, size_t, void *);
static inline CURLcode tr_easy_set_data_callback(CURL *easy, CURLoption option, tr_data_callback value) {
    return tr_curl_easy_setopt()(easy, option, value);
}
typedef int (*tr_seek_callback)(void *, curl_off_t, int);
static inline CURLcode tr_easy_set_seek_callback(CURL *easy, tr_seek_callback value) {
    return tr_curl_easy_setopt()(easy, CURLOPT_SEEKFUNCTION, value);
}
typedef CURLcode (*tr_ssl_context_callback)(CURL *, void *, void *);
static inline CURLcode tr_easy_set_ssl_context_callback(CURL *easy, tr_ssl_context_callback value) {
    return tr_curl_easy_setopt()(easy, CURLOPT_SSL_CTX_FUNCTION, value);
}
typedef int (*tr_progress_callback)(void *, curl_off_t, curl_off_t, curl_off_t, curl_off_t);
static inline CURLcode tr_easy_set_progress_callback(CURL *easy, tr_progress_callback value) {
    return tr_curl_easy_setopt()(easy, CURLOPT_XFERINFOFUNCTION, value);
}
typedef int (*tr_debug_callback)(CURL *, curl_infotype, char *, size_t, void *);
static inline CURLcode tr_easy_set_debug_callback(CURL *easy, tr_debug_callback value) {
    return tr_curl_easy_setopt()(easy, CURLOPT_DEBUGFUNCTION, value);
}
typedef int (*tr_prerequest_callback)(void *, char *, char *, int, int);
static inline CURLcode tr_easy_set_prerequest_callback(CURL *easy, tr_prerequest_callback value) {
    return tr_curl_easy_setopt()(easy, CURLOPT_PREREQFUNCTION, value);
}
typedef curl_socket_t (*tr_open_socket_callback)(void *, curlsocktype, struct curl_sockaddr *);
static inline CURLcode tr_easy_set_open_socket_callback(CURL *easy, tr_open_socket_callback value) {
    return tr_curl_easy_setopt()(easy, CURLOPT_OPENSOCKETFUNCTION, value);
}
typedef int (*tr_close_socket_callback)(void *, curl_socket_t);
static inline CURLcode tr_easy_set_close_socket_callback(CURL *easy, tr_close_socket_callback value) {
    return tr_curl_easy_setopt()(easy, CURLOPT_CLOSESOCKETFUNCTION, value);
}
static inline CURLcode tr_easy_get_long(CURL *easy, CURLINFO info, long *value) {
    return tr_curl_easy_getinfo()(easy, info, value);
}
static inline CURLcode tr_easy_get_offset(CURL *easy, CURLINFO info, int64_t *value) {
    curl_off_t number = 0;
    CURLcode code = tr_curl_easy_getinfo()(easy, info, &number);
    *value = (int64_t)number;
    return code;
}
static inline CURLcode tr_easy_get_pointer(CURL *easy, CURLINFO info, void **value) {
    return tr_curl_easy_getinfo()(easy, info, value);
}
static inline CURLcode tr_easy_get_string(CURL *easy, CURLINFO info, const char **value) {
    return tr_curl_easy_getinfo()(easy, info, value);
}
static inline CURLMcode tr_multi_set_long(CURLM *multi, CURLMoption option, long value) {
    return tr_curl_multi_setopt()(multi, option, value);
}
static inline CURLSHcode tr_share_set_lock(CURLSH *share, curl_lock_data value) {
    return tr_curl_share_setopt()(share, CURLSHOPT_SHARE, (int)value);
}

// `CURLMsg.data` is a union, and its message may be read only until the next curl call: both fields at once.
static inline CURL *tr_multi_next_done(CURLM *multi, CURLcode *result) {
    int left = 0;
    CURLMsg *message = 0;
    while ((message = curl_multi_info_read(multi, &left))) {
        if (message->msg == CURLMSG_DONE) {
            *result = message->data.result;
            return message->easy_handle;
        }
    }
    return 0;
}

// CURLVERSION_NOW is a macro that names an enumerator.
static inline curl_version_info_data *tr_curl_version(void) { return curl_version_info(CURLVERSION_NOW); }

// Macros with casts, which Swift does not import.
enum {
    tr_auth_ntlm = CURLAUTH_NTLM,
    tr_auth_negotiate = CURLAUTH_NEGOTIATE,
    tr_read_abort = CURL_READFUNC_ABORT,
    tr_read_pause = CURL_READFUNC_PAUSE,
    tr_write_pause = CURL_WRITEFUNC_PAUSE,
    tr_auth_basic = CURLAUTH_BASIC,
};
// Macros in later versions of libcurl, enumerators in earlier ones.
enum {
    tr_proxy_http = CURLPROXY_HTTP,
    tr_proxy_https = CURLPROXY_HTTPS,
    tr_proxy_socks4 = CURLPROXY_SOCKS4,
    tr_proxy_socks4a = CURLPROXY_SOCKS4A,
    tr_proxy_socks5 = CURLPROXY_SOCKS5,
    tr_proxy_socks5h = CURLPROXY_SOCKS5_HOSTNAME,
};
#endif
