// Settings of a whole process, each tested in a separate process: signals and descriptor limits. And writes to
// descriptors that others share: the log.

import Glibc
import TandemBase
import TandemReactor
import TandemTestSupport
import Testing

@Suite(.timeLimit(.minutes(10))) struct ProcessTests {
    @Test func signalsArriveAsEventsInTheLoop() async {
        await #expect(processExitsWith: .exitCode(42)) {
            try ProcessSignal.prepareProcess()
            let loop = try EventLoop()
            var seen: [ProcessSignal] = []
            let source = try SignalSource(loop: loop) { seen.append($0) }
            for (number, signal) in [(SIGTERM, ProcessSignal.terminate), (SIGINT, .interrupt), (SIGHUP, .hangUp)] {
                // To this thread: the test process has others, started before the signals were blocked.
                raise(number)
                loop.run { seen.last == signal }
            }
            source.cancel()
            if seen == [.terminate, .interrupt, .hangUp] { exit(42) }
        }
    }

    @Test func aClosedPipeIsAnErrorAndNotTheEnd() async {
        await #expect(processExitsWith: .exitCode(42)) {
            try ProcessSignal.prepareProcess()
            let writing = try DescriptorPair.pipe().split { _, writing in writing.release() }
            let outcome = try [0].withUnsafeBytes { try Linux.write(writing, $0) }
            if outcome == .ended { exit(42) }
        }
    }

    @Test func aLogLineForAReaderThatHasGoneDoesNotEndAProcessThatIgnoresNoSignals() async {
        await #expect(processExitsWith: .exitCode(42)) {
            signal(SIGPIPE, SIG_DFL)
            let writing = try DescriptorPair.pipe().split { _, writing in writing.release() }
            if !LogSink(lending: writing).write(line: "a reply was not sent") { exit(42) }
        }
    }

    @Test func systemErrorsNameTheCallTheTextAndTheNumber() {
        let error = SystemError(call: "bind", errno: EADDRINUSE)
        #expect(error.description == "bind: Address already in use (EADDRINUSE)")
        #expect(!error.isExhaustion)
        #expect(SystemError(call: "accept4", errno: EMFILE).isExhaustion)
        #expect(SystemError(call: "x", errno: 9999).name == "unknown")
    }

    @Test func `a file's call ends with any number that its server picks`() {
        for number in [EBADF, EFAULT, EIO, EINTR] {
            let result = SystemCall.once { () -> CInt in
                errno = number
                return -1
            }
            #expect(result == -number)
        }
    }

    @Test func descriptorsAreBornClosedOnExecAndNonBlocking() throws {
        let socket = try Linux.socket(for: NetworkAddress(path: "/nowhere"))
        #expect(fcntl(socket.raw, F_GETFD) & FD_CLOEXEC != 0)
        #expect(fcntl(socket.raw, F_GETFL) & O_NONBLOCK != 0)
    }

    @Test func aDescriptorIsClosedExactlyWhenItsOwnerGoes() throws {
        // The reader of a pipe sees the end when, and only when, its writer is closed.
        var buffer = [UInt8](repeating: 0, count: 1)
        let (reading, writing) = try DescriptorPair.pipe().split { ($0.release(), $1.release()) }
        let reader = OwnedDescriptor(takingOwnership: reading)
        var writer: OwnedDescriptor? = OwnedDescriptor(takingOwnership: writing)
        #expect(try buffer.withUnsafeMutableBytes { try Linux.read(reader.raw, into: $0) } == .wouldBlock)
        writer = nil
        #expect(try buffer.withUnsafeMutableBytes { try Linux.read(reader.raw, into: $0) } == .ended)
        withExtendedLifetime(writer == nil) {}
    }
}

@Suite struct LogSinkTests {
    private func text(from descriptor: CInt) throws -> String {
        var buffer = [UInt8](repeating: 0, count: 1 << 17)
        let transfer = try buffer.withUnsafeMutableBytes { bytes in try Linux.read(descriptor, into: bytes) }
        guard case .bytes(let count) = transfer else { return "" }
        return String(decoding: buffer[..<count], as: UTF8.self)
    }

    @Test func anEventIsOneLineInOneWrite() throws {
        let pipe = try DescriptorPair.pipe()
        let sink = LogSink(lending: pipe.second.raw)
        let counts = SystemCallCounter.counting {
            sink.write(LogEvent(.info, "started", .integer("port", 4747)))
            sink.write(LogEvent(.debug, "below the threshold"))
        }
        #expect(counts.writes == 1)
        let line = try text(from: pipe.first.raw)
        #expect(line.hasSuffix("Z info started port=4747\n"))
        #expect(line.filter { $0 == "\n" }.count == 1)
    }

    @Test func `CTL-65: the journal reads a priority instead of a time, and another stream does not`() throws {
        let pipe = try DescriptorPair.pipe()
        let status = try Linux.status(of: pipe.second.raw)
        let event = LogEvent(.warning, "late")
        LogSink(lending: pipe.second.raw, journal: "\(status.device):\(status.inode)").write(event)
        #expect(try text(from: pipe.first.raw) == "<4>warning late\n")
        LogSink(lending: pipe.second.raw, journal: "\(status.device):\(status.inode + 1)").write(event)
        #expect(try text(from: pipe.first.raw).hasSuffix("Z warning late\n"))
    }

    @Test func `CTL-54: another level counts from the next event on`() throws {
        let pipe = try DescriptorPair.pipe()
        let sink = LogSink(lending: pipe.second.raw, threshold: .error)
        sink.write(LogEvent(.warning, "before"))
        sink.setThreshold(.warning)
        sink.write(LogEvent(.warning, "after"))
        let line = try text(from: pipe.first.raw)
        #expect(line.hasSuffix("Z warning after\n") && !line.contains("before"))
    }

    @Test func aReaderThatDoesNotReadLosesLinesAndIsToldHowMany() throws {
        let pipe = try DescriptorPair.pipe()
        let sink = LogSink(lending: pipe.second.raw)
        let event = LogEvent(.warning, "full", .text("filler", String(repeating: "x", count: 3900)))
        for _ in 0..<40 { sink.write(event) }
        var lost = 40
        var read = try text(from: pipe.first.raw)
        while !read.isEmpty {
            lost -= read.count { $0 == "\n" }
            read = try text(from: pipe.first.raw)
        }
        #expect(lost > 0)
        sink.write(LogEvent(.info, "again"))
        let lines = try text(from: pipe.first.raw).split(separator: "\n")
        #expect(lines.count == 2)
        #expect(lines.first?.hasSuffix("warning log lines dropped count=\(lost)") == true)
        #expect(lines.last?.hasSuffix("info again") == true)
    }

    @Test func aLineIsNeverLongerThanAPipeTakesInOnePiece() throws {
        let pipe = try DescriptorPair.pipe()
        let sink = LogSink(lending: pipe.second.raw)
        sink.write(LogEvent(.info, "long", .text("filler", String(repeating: "x", count: 10_000))))
        let line = try text(from: pipe.first.raw)
        #expect(line.utf8.count == LogSink.longestLine)
        #expect(line.hasSuffix("\n"))
    }
}
