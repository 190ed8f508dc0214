// What a start leaves behind: heap that is free again, and the code that ran once. The kernel maps 16 pages of a file around
// each page that is touched, so that a start keeps most of every library mapped. Both are given back at rest; code that
// runs again is mapped again, from the page cache.
#include "door.h"

#include <link.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

// Only what is never written, relocations included: those pages are the file's own, and nothing is lost with the mapping.
static int unmap_code(struct dl_phdr_info *object, size_t size, void *context) {
    (void)size, (void)context;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    for (int index = 0; index < object->dlpi_phnum; index++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[index];
        if (segment->p_type != PT_LOAD || (segment->p_flags & PF_W)) continue;
        uintptr_t begin = object->dlpi_addr + segment->p_vaddr, end = begin + segment->p_memsz;
        begin &= ~(page - 1);
        madvise((void *)begin, end - begin, MADV_DONTNEED);
    }
    return 0;
}

void tandem_heap_give_back(void) { malloc_trim(0); }

void tandem_memory_give_back(void) {
    tandem_heap_give_back();
    dl_iterate_phdr(unmap_code, NULL);
}
