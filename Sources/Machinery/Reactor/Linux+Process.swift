// The calls about the process: clocks, descriptor limits, groups.

internal import CTandemLinux
package import TandemBase

extension Linux {
    /// The time since boot, sleep included.
    package static var bootTime: MonotonicTime { MonotonicTime(nanoseconds: tandem_clock_boot_nanoseconds()) }

    /// The wall clock.
    package static var wallTime: WallTime { WallTime(milliseconds: tandem_clock_wall_milliseconds()) }

    /// The user that this process runs as.
    package static var user: UInt32 { tandem_user_current() }

    /// Opens `/dev/null` in place of a standard input, output or error that this process was started without: the first file
    /// or socket would get the number, and what is printed or logged would go there. Before anything is opened.
    package static func fillUsualDescriptors() throws(SystemError) {
        try check(tandem_process_fill_usual_descriptors(), "open")
    }

    /// Keeps this process's secrets to itself: no core file holds its keys, no other process of the user traces it, and
    /// what it creates without a mode of its own is for its user alone.
    package static func closeToOthers() throws(SystemError) { try check(tandem_process_close_to_others(), "prctl") }

    /// Gives back free heap, whole pages of it; takes some hundred microseconds.
    package static func giveBackHeap() { tandem_heap_give_back() }

    /// Sets the soft limit of open descriptors, at most to the hard one.
    package static func setDescriptorLimit(_ limit: UInt64) throws(SystemError) {
        try check(tandem_descriptor_limit_set(limit), "setrlimit")
    }

    /// The number of the group with this name.
    package static func groupIdentifier(named name: String) throws(SystemError) -> UInt32 {
        var identifier: UInt32 = 0
        try check(tandem_group_identifier(name, &identifier), "getgrnam")
        return identifier
    }
}
