// As much of a binary property list (Protocol/Frames.md) as the load needs: writing a dictionary of scalars and arrays
// of strings, and looking into what the relay says. Written from the text, not from the project's own codec.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PLIST_PAIRS = 16, PLIST_VALUE = 128 };

struct plist {
    uint8_t *bytes;  // after plistEnd; the caller's to free
    size_t count;
    struct entry {
        const char *key;
        uint8_t marker[16];      // type, size, and the scalar itself if it is short
        size_t markerCount;
        const void *content;     // of data and strings; of an array the strings
        size_t contentCount, position;
        bool isArray;
    } entries[PLIST_PAIRS];
    size_t pairs;
};

// Keys must come in the order of their bytes (FRM-7).
void plistBegin(struct plist *);
void plistInteger(struct plist *, const char *key, uint64_t value);
void plistBoolean(struct plist *, const char *key, bool value);
void plistString(struct plist *, const char *key, const char *value);
void plistData(struct plist *, const char *key, const void *bytes, size_t count);
void plistStrings(struct plist *, const char *key, const char *const *values, size_t count);
void plistEnd(struct plist *);
size_t plistPosition(const struct plist *, const char *key);  // of a value's content in `bytes`

// A value inside somebody's property list; `list` is NULL if there is none.
struct value {
    const uint8_t *list;
    size_t count, object;
};
struct value plistRoot(const uint8_t *, size_t);
struct value plistFind(struct value dictionary, const char *key);
struct value plistElement(struct value array, size_t index);
const uint8_t *plistContent(struct value, size_t *count);  // of data or an ASCII string
bool plistIs(struct value, const char *text);
