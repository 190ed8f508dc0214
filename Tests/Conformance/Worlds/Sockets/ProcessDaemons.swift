// Daemons in processes of their own, started by any command: this project's, or those of another implementation. All
// that is asked of them is Protocol: the local socket with its control requests, the link, an orderly end at SIGTERM.

import Glibc
import TandemBase
import TandemReactor
import TandemTestSupport
import TandemTransport

/// How daemons are started. Each is a line of the shell, which may use the variables STATE (a directory that does not
/// exist at the first start), SOCKET (the local socket's path), NAME (the device's), and for a primary LISTEN (where it
/// takes links) and ADVERTISE (the address that its join links name).
package struct DaemonCommands: Sendable {
    package var primary: String
    package var secondary: String
    /// The executable of this project's command, which pairs them by control requests.
    package var tandem: String

    /// This project's daemons.
    package init(tandem: String) {
        self.tandem = tandem
        let places = "--state \"$STATE\" --local \"$SOCKET\" --name \"$NAME\""
        primary = "'\(tandem)' primary \(places) --listen \"$LISTEN\" --advertise \"$ADVERTISE\""
        secondary = "'\(tandem)' secondary \(places)"
    }
}

/// Processes that a world has started; all of their groups are ended with it.
final class ProcessDaemons: Daemons {
    private struct Running {
        let program: ChildProgram
        let end: End
    }

    private final class End {
        var status: Int32?
    }

    private let commands: DaemonCommands
    private let site: Site
    private let loop: EventLoop
    private var running: [Place: Running] = [:]
    private var places: [Place] = []

    init(_ commands: DaemonCommands, _ site: Site, on loop: EventLoop) {
        (self.commands, self.site, self.loop) = (commands, site, loop)
    }

    var notes: [String] {
        places.flatMap { place in Self.text(site.log(place)).split(separator: "\n").suffix(20).map { "\(place): \($0)" }
        }
    }

    func start(_ place: Place) throws {
        if !places.contains(place) { places.append(place) }
        let command = place == .primary ? commands.primary : commands.secondary
        running[place] = try run("exec >>\"$LOG\" 2>&1; exec \(command)", place)
        let serves = try loop.wait(within: .seconds(20)) {
            guard running[place]?.end.status == nil else { throw Violation("\(place)'s daemon ended: \(notes)") }
            return isServing(site.socket(place))
        }
        try demand(serves, "\(place)'s daemon serves its socket in 20 s")
    }

    func end(_ place: Place, _ ending: Ending) throws {
        guard let process = running.removeValue(forKey: place) else { throw Violation("\(place) does not run") }
        try end(process, ending == .orderly ? SIGTERM : SIGKILL)
    }

    private func end(_ process: Running, _ signal: Int32) throws {
        guard process.end.status == nil else { throw Violation("a daemon has ended by itself: \(notes)") }
        // Its whole group: what a shell or a wrapper started goes with it.
        kill(-process.program.process, signal)
        let hasEnded = loop.wait(within: .seconds(20)) { process.end.status != nil }
        if !hasEnded { kill(-process.program.process, SIGKILL) }
        try demand(hasEnded, "a daemon ends within 20 s of signal \(signal)")
    }

    func pair(_ number: Int) throws -> UniqueIdentifier {
        let (tandem, secondary) = ("'\(commands.tandem)'", site.socket(.secondary(number)))
        let answer = site.file("paired")
        let process = try run(
            """
            \(tandem) pair --link-only --device '\(site.socket(.primary))' \
            | \(tandem) join --json --device '\(secondary)' >'\(answer)' 2>&1
            """, .primary)
        let hasEnded = loop.wait(within: .seconds(60)) { process.end.status != nil }
        let words = Self.text(answer).split(separator: "\"")
        let pairing = words.firstIndex(of: "pairing").flatMap {
            UniqueIdentifier(text: String(words[($0 + 2)...].first ?? ""))
        }
        guard hasEnded, process.end.status == 0, let pairing else {
            throw Violation("the secondary is not paired: \(Self.text(answer))")
        }
        return pairing
    }

    func endAll() {
        for process in running.values where process.end.status == nil { try? end(process, SIGKILL) }
        running = [:]
    }

    // MARK: parts of it

    private func run(_ line: String, _ place: Place) throws -> Running {
        let environment = [
            "PATH=/usr/local/bin:/usr/bin:/bin", "SWIFT_BACKTRACE=enable=no", "STATE=\(site.state(place))",
            "SOCKET=\(site.socket(place))", "NAME=\(place.fileName)", "LOG=\(site.log(place))",
            "LISTEN=\(site.listening)", "ADVERTISE=\(site.dialled)",
        ]
        let end = End()
        let call = ProgramCall(arguments: ["/bin/sh", "-c", line], environment: environment, user: nil)
        return Running(program: try SignalCleanup.start(call, on: loop) { end.status = $0 }, end: end)
    }

    private func isServing(_ path: String) -> Bool {
        guard let stream = try? loop.connect(to: path) else { return false }
        stream.close(.closedHere)
        return true
    }

    private static func text(_ path: String) -> String {
        TemporaryDirectory.read(path).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }
}
