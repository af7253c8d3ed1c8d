// What is called of libcurl: late.h says how this is read.

#define LATE_CURL(X) \
    X(void, curl_easy_cleanup, (CURL *curl), (curl)) \
    X(CURL *, curl_easy_init, (void), ()) \
    X(CURLcode, curl_easy_perform, (CURL *curl), (curl)) \
    X(CURLcode, curl_easy_pause, (CURL *handle, int bitmask), (handle, bitmask)) \
    X(const char *, curl_easy_strerror, (CURLcode code), (code)) \
    X(void, curl_free, (void *p), (p)) \
    X(CURLcode, curl_global_init, (long flags), (flags)) \
    X(CURLMcode, curl_multi_add_handle, (CURLM *multi, CURL *easy), (multi, easy)) \
    X(CURLMcode, curl_multi_cleanup, (CURLM *multi), (multi)) \
    X(CURLMsg *, curl_multi_info_read, (CURLM *multi, int *left), (multi, left)) \
    X(CURLM *, curl_multi_init, (void), ()) \
    X(CURLMcode, curl_multi_perform, (CURLM *multi, int *running), (multi, running)) \
    X(CURLMcode, curl_multi_poll, (CURLM *multi, struct curl_waitfd others[], unsigned int count, int timeout, \
      int *ready), (multi, others, count, timeout, ready)) \
    X(CURLMcode, curl_multi_remove_handle, (CURLM *multi, CURL *easy), (multi, easy)) \
    X(const char *, curl_multi_strerror, (CURLMcode code), (code)) \
    X(CURLMcode, curl_multi_wakeup, (CURLM *multi), (multi)) \
    X(CURLSHcode, curl_share_cleanup, (CURLSH *share), (share)) \
    X(CURLSH *, curl_share_init, (void), ()) \
    X(struct curl_slist *, curl_slist_append, (struct curl_slist *list, const char *text), (list, text)) \
    X(void, curl_slist_free_all, (struct curl_slist *list), (list)) \
    X(curl_version_info_data *, curl_version_info, (CURLversion version), (version))
