#define _GNU_SOURCE
#include "shim.h"
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

// libcurl writes formatted text a byte at a time, each by two calls or three, though a request's head, a URL and the name of
// a connection are only pieces put side by side. The linker gives it these functions in the place of its own (`--wrap`,
// Package.swift): where a format has nothing but plain strings and decimal numbers they copy piece by piece, and whatever
// else is asked for is left to libcurl's own.

enum { maximumPieces = 48, maximumNumbers = 8, longestNumber = 21, longest = 16384 };

struct pieces {
    struct {
        const char *text;
        size_t length;
    } of[maximumPieces];
    int count;
    size_t length;
    char numbers[maximumNumbers][longestNumber];
    int numberCount;
};

static int add(struct pieces *pieces, const char *text, size_t length) {
    if (pieces->count == maximumPieces || length > longest - pieces->length) return 0;
    pieces->of[pieces->count].text = text;
    pieces->of[pieces->count++].length = length;
    pieces->length += length;
    return 1;
}

static int add_number(struct pieces *pieces, unsigned long magnitude, int isNegative) {
    if (pieces->numberCount == maximumNumbers) return 0;
    char *end = pieces->numbers[pieces->numberCount++] + longestNumber, *start = end;
    do *--start = (char)('0' + magnitude % 10);
    while (magnitude /= 10);
    if (isNegative) *--start = '-';
    return add(pieces, start, (size_t)(end - start));
}

static int add_signed(struct pieces *pieces, long value) {
    return add_number(pieces, value < 0 ? 0 - (unsigned long)value : (unsigned long)value, value < 0);
}

/// False where `format` is none of these; `arguments` may not be used again.
static int gather(struct pieces *pieces, const char *format, va_list arguments) {
    pieces->count = pieces->numberCount = 0;
    pieces->length = 0;
    for (;;) {
        const char *mark = strchrnul(format, '%');
        if (mark != format && !add(pieces, format, (size_t)(mark - format))) return 0;
        if (!*mark) return 1;
        format = mark + 2;
        switch (mark[1]) {
        case 's': {
            const char *text = va_arg(arguments, const char *);
            if (!text || !add(pieces, text, strlen(text))) return 0;
            break;
        }
        case 'd':
            if (!add_signed(pieces, va_arg(arguments, int))) return 0;
            break;
        case 'u':
            if (!add_number(pieces, va_arg(arguments, unsigned), 0)) return 0;
            break;
        case 'l':
        case 'z':
            if (*format == 'd') {
                if (!add_signed(pieces, va_arg(arguments, long))) return 0;
            } else if (*format == 'u') {
                if (!add_number(pieces, va_arg(arguments, unsigned long), 0)) return 0;
            } else {
                return 0;
            }
            format++;
            break;
        default: return 0;
        }
    }
}

/// As many bytes of the text as `room` holds.
static void join(const struct pieces *pieces, char *place, size_t room) {
    for (int index = 0; index < pieces->count && room; index++) {
        size_t length = pieces->of[index].length < room ? pieces->of[index].length : room;
        memcpy(place, pieces->of[index].text, length);
        place += length;
        room -= length;
    }
}

char *tr_formatted(const char *format, va_list arguments) {
    struct pieces pieces;
    va_list own;
    va_copy(own, arguments);
    int isOurs = gather(&pieces, format, own);
    va_end(own);
    if (!isOurs) return curl_mvaprintf(format, arguments);
    char *text = malloc(pieces.length + 1);
    if (!text) return 0;
    join(&pieces, text, pieces.length);
    text[pieces.length] = 0;
    return text;
}

int tr_formatted_into(char *place, size_t room, const char *format, va_list arguments) {
    struct pieces pieces;
    va_list own;
    va_copy(own, arguments);
    int isOurs = room && gather(&pieces, format, own);
    va_end(own);
    if (!isOurs) return curl_mvsnprintf(place, room, format, arguments);
    size_t length = pieces.length < room ? pieces.length : room - 1;
    join(&pieces, place, length);
    place[length] = 0;
    return (int)length;
}

__attribute__((visibility("hidden"))) char *__wrap_curl_maprintf(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char *text = tr_formatted(format, arguments);
    va_end(arguments);
    return text;
}

__attribute__((visibility("hidden"))) int __wrap_curl_msnprintf(char *place, size_t room, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int length = tr_formatted_into(place, room, format, arguments);
    va_end(arguments);
    return length;
}

// libcurl's buffer that grows, and the function by which all its formatted text gets there: nothing else is known of them here.
struct dynbuf;
CURLcode Curl_dyn_addn(struct dynbuf *buffer, const void *bytes, size_t count);
int __real_Curl_dyn_vprintf(struct dynbuf *buffer, const char *format, va_list arguments);

__attribute__((visibility("hidden"))) int __wrap_Curl_dyn_vprintf(
    struct dynbuf *buffer, const char *format, va_list arguments) {
    struct pieces pieces;
    va_list own;
    va_copy(own, arguments);
    int isOurs = gather(&pieces, format, own);
    va_end(own);
    if (!isOurs) return __real_Curl_dyn_vprintf(buffer, format, arguments);
    char text[longest];
    join(&pieces, text, pieces.length);
    return pieces.length && Curl_dyn_addn(buffer, text, pieces.length) ? 1 : 0;
}
