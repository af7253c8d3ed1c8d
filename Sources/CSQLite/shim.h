#ifndef TRANSFER_RUN_CSQLITE_SHIM_H
#define TRANSFER_RUN_CSQLITE_SHIM_H
#include <sqlite3.h>
#endif
