// The one door to SQLite: Store is the only room that imports it. Variadic functions and cast macros that Swift
// cannot see become static inline functions here, prefixed with the module's name.
#pragma once
#include <sqlite3.h>

// SQL can then neither corrupt the file nor change its schema by accident; returns a result code.
static inline int CTandemSQLite_set_defensive(sqlite3 *connection) {
    return sqlite3_db_config(connection, SQLITE_DBCONFIG_DEFENSIVE, 1, (int *)0);
}

// Whether closing leaves the log where it is instead of moving it into the file; returns a result code.
static inline int CTandemSQLite_keep_log(sqlite3 *connection, int keep) {
    return sqlite3_db_config(connection, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, keep, (int *)0);
}

// Whether SQLite keeps totals of its memory, under a mutex for each allocation. Of the whole process, and only before
// SQLite is used: later it changes nothing and returns SQLITE_MISUSE.
static inline int CTandemSQLite_count_memory(int counts) { return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, counts); }
