#ifndef TRANSFER_RUN_REPORT_PAGE_H
#define TRANSFER_RUN_REPORT_PAGE_H
#include <stddef.h>

// The fixed parts of the HTML report, as the files in `page/` hold them. They are here because `#embed` puts a file into
// the program when it is compiled, and Swift has nothing alike.
const unsigned char *tr_page_style(size_t *length);
const unsigned char *tr_page_script(size_t *length);
const unsigned char *tr_page_symbols(size_t *length);

#endif
