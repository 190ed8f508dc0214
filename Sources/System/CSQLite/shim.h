// The one door to SQLite: Store is the only room that imports it. Variadic functions and cast macros that Swift
// cannot see become static inline functions here, prefixed with the module's name.
#pragma once
#include <sqlite3.h>

// SQL can then neither corrupt the file nor change its schema by accident; returns a result code.
static inline int CTandemSQLite_set_defensive(sqlite3 *connection) {
    return sqlite3_db_config(connection, SQLITE_DBCONFIG_DEFENSIVE, 1, (int *)0);
}

// The write-ahead log's file, or a null pointer while there is none.
static inline sqlite3_file *CTandemSQLite_log(sqlite3 *connection) {
    sqlite3_file *file = 0;
    int code = sqlite3_file_control(connection, "main", SQLITE_FCNTL_JOURNAL_POINTER, &file);
    return code == SQLITE_OK && file && file->pMethods ? file : 0;
}

// The log's size in bytes; 0 while there is none.
static inline sqlite3_int64 CTandemSQLite_log_size(sqlite3 *connection) {
    sqlite3_int64 size = 0;
    sqlite3_file *file = CTandemSQLite_log(connection);
    return file && file->pMethods->xFileSize(file, &size) == SQLITE_OK ? size : 0;
}

// Writes zeros behind the end of the log, from `size` to `end`; returns a result code.
static inline int CTandemSQLite_extend_log(sqlite3 *connection, sqlite3_int64 size, sqlite3_int64 end) {
    static const char zeros[64 * 1024];
    sqlite3_file *file = CTandemSQLite_log(connection);
    int code = file ? SQLITE_OK : SQLITE_CANTOPEN;
    while (code == SQLITE_OK && size < end) {
        int count = end - size < (sqlite3_int64)sizeof zeros ? (int)(end - size) : (int)sizeof zeros;
        code = file->pMethods->xWrite(file, zeros, count, size);
        size += count;
    }
    return code;
}
