// Only in test builds with Thread Sanitizer: tells it what the waiting half of Swift's Mutex does. The half that finds
// the lock free is compiled into our code and seen; the half that waits lives in the standard library, which is not
// instrumented, so that each contended lock would be reported as a race. These two doors stand before the library's and
// add the order that the lock makes; they change nothing else and hide no race.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include <stdint.h>

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)

#include <dlfcn.h>
#include <sanitizer/tsan_interface.h>

#define LOCK_SLOW "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define UNLOCK_SLOW "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

typedef __attribute__((swiftcall)) void lock_slow(uint32_t thread, __attribute__((swift_context)) void *mutex);
typedef __attribute__((swiftcall)) void unlock_slow(__attribute__((swift_context)) void *mutex);

__attribute__((swiftcall, visibility("default"))) void tandem_lock_slow(
    uint32_t thread, __attribute__((swift_context)) void *mutex) __asm__(LOCK_SLOW);

__attribute__((swiftcall)) void tandem_lock_slow(uint32_t thread, __attribute__((swift_context)) void *mutex) {
    ((lock_slow *)dlsym(RTLD_NEXT, LOCK_SLOW))(thread, mutex);
    __tsan_acquire(mutex);
}

__attribute__((swiftcall, visibility("default"))) void tandem_unlock_slow(
    __attribute__((swift_context)) void *mutex) __asm__(UNLOCK_SLOW);

__attribute__((swiftcall)) void tandem_unlock_slow(__attribute__((swift_context)) void *mutex) {
    __tsan_release(mutex);
    ((unlock_slow *)dlsym(RTLD_NEXT, UNLOCK_SLOW))(mutex);
}

#endif
#endif
