#include "CReportPage.h"

#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char style[] = {
#embed "page/page.css"
};

static const unsigned char symbols[] = {
#embed "page/symbols.svg"
};

// One script, in the order in which a file may use what another declares.
static const unsigned char script[] = {
#embed "page/base.js"
    ,
#embed "page/data.js"
    ,
#embed "page/path.js"
    ,
#embed "page/details.js"
    ,
#embed "page/table.js"
    ,
#embed "page/rows.js"
    ,
#embed "page/drawing.js"
    ,
#embed "page/timeline.js"
    ,
#embed "page/main.js"
};

const unsigned char *tr_page_style(size_t *length) {
    *length = sizeof style;
    return style;
}

const unsigned char *tr_page_script(size_t *length) {
    *length = sizeof script;
    return script;
}

const unsigned char *tr_page_symbols(size_t *length) {
    *length = sizeof symbols;
    return symbols;
}
