// Bytes that must outlive a turn of the floor: what a full socket left over, and what is not whole.
#pragma once
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct kept {
    uint8_t *bytes;
    size_t count, room;
};

static inline void keep(struct kept *kept, const void *bytes, size_t count) {
    if (kept->count + count > kept->room) {
        kept->room = (kept->count + count) * 2;
        if (!(kept->bytes = realloc(kept->bytes, kept->room))) (perror("realloc"), exit(1));
    }
    memcpy(kept->bytes + kept->count, bytes, count);
    kept->count += count;
}

static inline void forget(struct kept *kept, size_t count) {
    kept->count -= count;
    if (kept->count) {
        memmove(kept->bytes, kept->bytes + count, kept->count);
        return;
    }
    free(kept->bytes);
    *kept = (struct kept){0};
}
