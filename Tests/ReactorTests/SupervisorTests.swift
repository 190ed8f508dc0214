// Datagrams to the program that started a service, as systemd reads them, by a manual clock.

import Glibc
import TandemBase
import TandemReactor
import TandemTestSupport
import Testing

@Suite(.timeLimit(.minutes(10))) struct SupervisorTests {
    private let directory = TemporaryDirectory()
    private let scheduler = ManualScheduler()
    private let log = LogSink(lending: STDERR_FILENO, threshold: .error)

    private func supervisor(_ variables: [String: String]) throws -> Supervisor? {
        try Supervisor({ variables[$0] }, on: scheduler, log: log)
    }

    @Test func `CTL-65: without the variable there is no supervisor`() throws {
        #expect(try supervisor(["WATCHDOG_USEC": "1000"]) == nil)
        #expect(scheduler.timerCount == 0)
    }

    @Test func `CTL-65: a supervisor at a path or an abstract name hears that the service is ready, and that it ends`()
        throws
    {
        for name in [directory.path("notify"), "@tandem-test-\(getpid())"] {
            let socket = SupervisorSocket(at: name)
            let supervisor = try #require(try supervisor(["NOTIFY_SOCKET": name]))
            supervisor.tell(.ready(status: "ready: here"))
            supervisor.tell(.stopping)
            #expect(
                socket.all() == [
                    "READY=1\nSTATUS=ready: here", "STOPPING=1\nSTATUS=finishing what it has accepted",
                ])
        }
    }

    @Test func `CTL-65: a supervisor that reads nothing hears all of it later, in order`() throws {
        let name = directory.path("notify")
        let socket = SupervisorSocket(at: name)
        let supervisor = try #require(try supervisor(["NOTIFY_SOCKET": name]))
        // More than the system keeps for a socket that nobody reads.
        for number in 0..<1000 { supervisor.tell(.ready(status: "\(number)")) }
        var heard = socket.all()
        #expect(heard.count < 1000)
        while scheduler.timerCount > 0 {
            scheduler.advance(by: .milliseconds(100))
            heard += socket.all()
        }
        #expect(heard == (0..<1000).map { "READY=1\nSTATUS=\($0)" })
    }

    @Test func `CTL-65: the loop proves twice in the time of the watchdog that it turns`() throws {
        let name = directory.path("notify")
        let socket = SupervisorSocket(at: name)
        _ = try supervisor(["NOTIFY_SOCKET": name, "WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "\(getpid())"])
        scheduler.advance(by: .milliseconds(14_999))
        #expect(socket.all() == [])
        for _ in 0..<6 { scheduler.advance(by: .seconds(15)) }
        #expect(socket.all() == Array(repeating: "WATCHDOG=1", count: 6))
    }

    @Test(arguments: [
        ["WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "1"], ["WATCHDOG_USEC": "0"], ["WATCHDOG_USEC": "-5"],
        ["WATCHDOG_USEC": "often"], ["WATCHDOG_USEC": "99999999999999999999"],
    ])
    func `CTL-65: a watchdog of another process, or of no time, gets no proof`(_ variables: [String: String]) throws {
        let name = directory.path("notify")
        _ = try supervisor(variables.merging(["NOTIFY_SOCKET": name]) { $1 })
        #expect(scheduler.timerCount == 0)
    }

    @Test func `CTL-65: a supervisor that is gone costs a line of the log, and an address that is none is refused`()
        throws
    {
        let pipe = try DescriptorPair.pipe()
        let log = LogSink(lending: pipe.second.raw)
        let name = directory.path("gone")
        let supervisor = try #require(
            try Supervisor({ $0 == "NOTIFY_SOCKET" ? name : nil }, on: scheduler, log: log))
        supervisor.tell(.ready(status: ""))
        var buffer = [UInt8](repeating: 0, count: 4096)
        guard case .bytes(let count) = try buffer.withUnsafeMutableBytes({ try Linux.read(pipe.first.raw, into: $0) })
        else { throw Unexpected("no line") }
        let line = String(decoding: buffer[..<count], as: UTF8.self)
        #expect(line.contains("warning supervisor not told socket=\(name) error=\"sendto: No such file"), "\(line)")
        #expect(throws: SystemError(call: "sockaddr_un", errno: ENAMETOOLONG)) {
            try self.supervisor(["NOTIFY_SOCKET": "/" + String(repeating: "x", count: 200)])
        }
        #expect(throws: SystemError(call: "sockaddr_un", errno: EINVAL)) {
            try self.supervisor(["NOTIFY_SOCKET": "notify"])
        }
    }
}
