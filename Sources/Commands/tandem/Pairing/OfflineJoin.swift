// Joining while no secondary runs: this process opens the device's state under its lock, joins as the daemon would, and
// leaves a pending pairing that the daemon's first start activates. It serves no socket.

import Glibc
import TandemBase
import TandemDaemon
import TandemPropertyList
import TandemReactor
import TandemTransport

enum OfflineJoin {
    /// Whether the state is to be opened here: it is named, or nothing names a daemon and none runs.
    static func isWanted(_ arguments: Arguments) -> Bool {
        if arguments.has("state") { return true }
        let environment = Environment()
        guard !arguments.has("device"), environment.value("TANDEM_SOCKET") == nil else { return false }
        return !LocalSockets.candidates(for: .secondary, environment).contains(where: LocalSockets.isServed)
    }

    /// Joins with the body of the control command `join`, and returns its answer.
    static func join(_ body: PropertyListDictionary, _ arguments: Arguments) throws -> PropertyListDictionary {
        try ProcessSignal.prepareProcess()
        try Linux.closeToOthers()
        let options = try DaemonOptions(role: .secondary, arguments: arguments).withoutSockets()
        let loop = try EventLoop()
        let log = LogSink(lending: STDERR_FILENO, threshold: .error)
        let node = try Node(options, software: "tandem \(Version.text)", loop: loop, log: log.handler)
        let caller = PeerCredentials(user: geteuid(), group: getegid(), process: getpid())
        let request = ControlRequest(command: "join", body: body, caller: caller, isPrivileged: true)
        var answer: ControlAnswer?
        node.respond(to: request) { result in
            answer = result
            node.stop { loop.stop() }
        }
        loop.run()
        guard let answer, answer.code == 0 else {
            throw CommandFailure.refused(answer?.body["text"]?.stringValue ?? "the join was ended")
        }
        return answer.body
    }
}
