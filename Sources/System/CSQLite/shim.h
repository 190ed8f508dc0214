// The one door to SQLite: Store is the only room that imports it. Variadic functions and cast macros that Swift
// cannot see become static inline functions here, prefixed with the module's name.
#pragma once
#include <sqlite3.h>
