#ifndef TRANSFER_RUN_PCRE2_SHIM_H
#define TRANSFER_RUN_PCRE2_SHIM_H
// The header wants the code unit width before it is read, which Swift cannot say.
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <late.h>

// What is called of it: late.h says how this is read.
#define LATE_PCRE2(X) \
    X(void, pcre2_code_free_8, (pcre2_code_8 *a), (a)) \
    X(pcre2_code_8 *, pcre2_compile_8, (PCRE2_SPTR8 a, size_t b, uint32_t c, int *d, size_t *e, \
      pcre2_compile_context_8 *f), (a, b, c, d, e, f)) \
    X(int, pcre2_get_error_message_8, (int a, PCRE2_UCHAR8 *b, size_t c), (a, b, c)) \
    X(uint32_t, pcre2_get_ovector_count_8, (pcre2_match_data_8 *a), (a)) \
    X(size_t *, pcre2_get_ovector_pointer_8, (pcre2_match_data_8 *a), (a)) \
    X(int, pcre2_match_8, (const pcre2_code_8 *a, PCRE2_SPTR8 b, size_t c, size_t d, uint32_t e, \
      pcre2_match_data_8 *f, pcre2_match_context_8 *g), (a, b, c, d, e, f, g)) \
    X(int, pcre2_pattern_info_8, (const pcre2_code_8 *a, uint32_t b, void *c), (a, b, c)) \
    X(pcre2_match_context_8 *, pcre2_match_context_create_8, (pcre2_general_context_8 *a), (a)) \
    X(void, pcre2_match_context_free_8, (pcre2_match_context_8 *a), (a)) \
    X(pcre2_match_data_8 *, pcre2_match_data_create_from_pattern_8, (const pcre2_code_8 *a, \
      pcre2_general_context_8 *b), (a, b)) \
    X(void, pcre2_match_data_free_8, (pcre2_match_data_8 *a), (a)) \
    X(int, pcre2_set_heap_limit_8, (pcre2_match_context_8 *a, uint32_t b), (a, b)) \
    X(int, pcre2_set_match_limit_8, (pcre2_match_context_8 *a, uint32_t b), (a, b))
LATE_PCRE2(LATE_LABEL)
#endif
