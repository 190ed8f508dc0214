// Programs that this process starts: as whom, with what, and how they end (CTL-22).

import Glibc
import TandemReactor
import TandemTestSupport
import Testing

@Suite(.timeLimit(.minutes(10))) struct ChildProgramTests {
    private let directory = TemporaryDirectory()

    /// Runs a shell script, the only shell here, to its end.
    private func run(
        _ script: String, environment: [String] = [], user: ProgramUser? = nil
    ) throws -> Int32 {
        let loop = try EventLoop()
        var code: Int32?
        let call = ProgramCall(arguments: ["/bin/sh", "-c", script], environment: environment, user: user)
        try ChildProgram(call, loop: loop) { code = $0 }
        loop.run { code != nil }
        return try #require(code)
    }

    private func text(_ name: String) throws -> String {
        String(decoding: try #require(TemporaryDirectory.read(directory.path(name))), as: UTF8.self)
    }

    @Test func `its exit code or signal is told once it has ended`() throws {
        #expect(try run("exit 0") == 0)
        #expect(try run("exit 7") == 7)
        #expect(try run("kill -KILL $$") == 128 + SIGKILL)
    }

    @Test func `it gets the variables that are named and no other, and words are not expanded`() throws {
        let file = "\(directory.path)/environment"
        #expect(try run("/usr/bin/env -u PWD -u SHLVL -u _ > \(file)", environment: ["A=b c", "B=$A"]) == 0)
        #expect(try text("environment").split(separator: "\n").sorted().suffix(2) == ["A=b c", "B=$A"])
        #expect(!(try text("environment").contains("HOME=")))
    }

    @Test func `it has no descriptor but the three that lead nowhere, and no blocked signal`() throws {
        let file = "\(directory.path)/facts"
        let script = "ls -l /proc/$$/fd > \(file); grep -E '^Sig(Blk|Ign)' /proc/self/status >> \(file); pwd >> \(file)"
        #expect(try run(script, environment: ["PATH=/usr/bin:/bin"]) == 0)
        let facts = try text("facts")
        #expect(facts.ranges(of: "-> /dev/null").count >= 2)
        #expect(!facts.contains("socket:") && !facts.contains("eventpoll"))
        #expect(facts.contains("SigBlk:\t0000000000000000") && facts.contains("SigIgn:\t0000000000000000"), "\(facts)")
        #expect(facts.hasSuffix("/\n"))
    }

    @Test func `it has a session and a process group of its own`() throws {
        let file = "\(directory.path)/group"
        #expect(try run("cut -d' ' -f1,5,6 /proc/$$/stat > \(file)", environment: ["PATH=/usr/bin:/bin"]) == 0)
        let numbers = try text("group").split(whereSeparator: \.isWhitespace)
        #expect(numbers.count == 3 && Set(numbers).count == 1, "\(numbers)")
    }

    @Test func `what cannot be started is an error of the start`() throws {
        let loop = try EventLoop()
        for path in ["/nonexistent/program", "/etc/passwd", directory.path] {
            let call = ProgramCall(arguments: [path], environment: [], user: nil)
            #expect(throws: SystemError.self) { try ChildProgram(call, loop: loop) { _ in } }
        }
    }

    @Test func `arguments that no program can get are an error of the start, and nothing is left of it`() throws {
        let loop = try EventLoop()
        let call = ProgramCall(
            arguments: ["/bin/true", String(repeating: "x", count: 4 << 20)], environment: [], user: nil)
        #expect(throws: SystemError.self) { try ChildProgram(call, loop: loop) { _ in } }
    }

    @Test func `a program whose end somebody else was told of has not ended well`() throws {
        let loop = try EventLoop()
        var code: Int32?
        let call = ProgramCall(arguments: ["/bin/true"], environment: [], user: nil)
        let program = try ChildProgram(call, loop: loop) { code = $0 }
        #expect(waitpid(program.process, nil, 0) == program.process)
        loop.run { code != nil }
        #expect(code == ChildProgram.unknownEnd)
    }

    @Test(.enabled(if: geteuid() == 0)) func `root starts it as another user, with that user's groups only`() throws {
        let user = try ProgramUser(65534)
        chmod(directory.path, 0o777)
        let file = "\(directory.path)/identity"
        let script = "id -u > \(file); id -g >> \(file); id -G >> \(file); grep CapEff /proc/self/status >> \(file)"
        #expect(try run(script, environment: ["PATH=/usr/bin:/bin"], user: user) == 0)
        let lines = try text("identity").split(separator: "\n")
        #expect(lines[0] == "65534" && lines[1] == "\(user.group)" && lines[2] == "\(user.group)", "\(lines)")
        #expect(lines[3].hasSuffix("0000000000000000"))
    }

    @Test func `a user that does not exist cannot be asked for`() {
        #expect(throws: SystemError.self) { try ProgramUser(4_000_000_000) }
    }

    @Test func `many programs at once are each reaped`() throws {
        let loop = try EventLoop()
        var codes: [Int32] = []
        var processes: [Int32] = []
        for number in 0..<20 {
            let call = ProgramCall(arguments: ["/bin/sh", "-c", "exit \(number)"], environment: [], user: nil)
            processes.append(try ChildProgram(call, loop: loop) { codes.append($0) }.process)
        }
        loop.run { codes.count == 20 }
        #expect(codes.sorted() == Array(0..<20))
        // Not this process's children by any number: other tests have some, too.
        for process in processes { #expect(waitpid(process, nil, WNOHANG) == -1 && errno == ECHILD) }
    }
}
