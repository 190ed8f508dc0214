// Processor time of the calling thread, for tests of what work costs: unlike time on a clock it does not grow when
// other processes have the processor.

import Glibc

public enum ThreadTime {
    public static var now: Duration {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}
