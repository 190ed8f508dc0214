// Both sides of a pair on one machine over plain local sockets, for developing host apps without devices.

import Glibc
import TandemFiles
import TandemHostApps
import TandemReactor

extension Subcommand {
    static let simulate = Subcommand(
        path: ["simulate"], summary: "run both sides of a pair on this machine, for developing host apps",
        options: [
            .valued("local", "DIR", "directory for primary.sock and secondary.sock (made if missing)").required,
            LogOption.option,
        ],
        notes: """
            Point an app at one side with TANDEM_SOCKET=DIR/primary.sock and its counterpart at DIR/secondary.sock. The
            frames and rules are a daemon's; there is no pairing to make, no store and no configuration.
            """,
        examples: ["simulate --local /tmp/pair"]
    ) { arguments, console in
        let directory = try OwnedDirectory(path: try arguments.required("local"))
        try ServiceRun.run(log: try LogOption.level(arguments), on: console) { loop, log in
            let simulator = Simulator(
                scheduler: loop, software: "tandem \(Version.text)", user: geteuid(), log: log)
            try simulator.listen(in: directory.path, loop: loop)
            return SimulatorService(simulator, directory: directory.path)
        }
    }
}

private final class SimulatorService: Service {
    private let simulator: Simulator
    let readiness: String
    /// It keeps nothing that could break.
    let failure: (any Error)? = nil

    init(_ simulator: Simulator, directory: String) {
        self.simulator = simulator
        readiness = "ready: \(directory)/primary.sock and \(directory)/secondary.sock"
    }

    func stop(completion: @escaping () -> Void) { simulator.stop(completion: completion) }
}
