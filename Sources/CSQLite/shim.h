#ifndef TRANSFER_RUN_CSQLITE_SHIM_H
#define TRANSFER_RUN_CSQLITE_SHIM_H
#include <sqlite3.h>
#include <stdint.h>

// SQLITE_TRANSIENT is a cast, which Swift does not import: it makes SQLite copy what it is given.
static inline int tr_sqlite_bind_text(sqlite3_stmt *statement, int index, const char *text, int length) {
    return sqlite3_bind_text(statement, index, text, length, SQLITE_TRANSIENT);
}
static inline int tr_sqlite_bind_blob(sqlite3_stmt *statement, int index, const void *bytes, int length) {
    return sqlite3_bind_blob(statement, index, bytes, length, SQLITE_TRANSIENT);
}

// Variadic.
static inline int tr_sqlite_set_flag(sqlite3 *database, int option, int value) {
    return sqlite3_db_config(database, option, value, (int *)0);
}

// In milliseconds, for others' locks.
enum { tr_sqlite_patience = 10000 };

// Takes the log into the file and empties it. Nobody is waited for: while others read or write, what can be is taken.
static inline void tr_sqlite_empty_log(sqlite3 *database) {
    sqlite3_busy_timeout(database, 0);
    sqlite3_wal_checkpoint_v2(database, "main", SQLITE_CHECKPOINT_TRUNCATE, (int *)0, (int *)0);
    sqlite3_busy_timeout(database, tr_sqlite_patience);
}

static inline int tr_sqlite_committed(void *most, sqlite3 *database, const char *name, int pages) {
    (void)name;
    if (pages >= (intptr_t)most) tr_sqlite_empty_log(database);
    // What was committed is, whatever came of this.
    return SQLITE_OK;
}

// SQLite's own bound (`wal_autocheckpoint`) leaves a log that is taken as long as it was, and whoever opens the database
// reads it once more.
static inline void tr_sqlite_bound_log(sqlite3 *database, int pages) {
    sqlite3_wal_hook(database, tr_sqlite_committed, (void *)(intptr_t)pages);
}
#endif
