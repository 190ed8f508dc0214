// `simulate`: a primary and its secondaries on one machine over plain local sockets, for developing host apps without
// devices.

import Glibc
import TandemDaemon
import TandemFiles
import TandemReactor
import TandemWire

extension Subcommand {
    static let simulate = Subcommand(
        path: ["simulate"], summary: "run a primary and its secondaries on this machine, for developing host apps",
        options: [
            .valued("local", "DIR", "directory for primary.sock and secondary.sock (made if missing)").required,
            .valued("secondaries", "N", "how many secondaries (default 1): also secondary-2.sock to secondary-N.sock"),
            .valued("connections", "N", "how many apps may be connected to one device (default 1024)"),
            LogOption.option,
        ],
        isService: true,
        notes: """
            Point an app at one side with TANDEM_SOCKET=DIR/primary.sock and its counterpart at DIR/secondary.sock. The
            frames and rules are a daemon's; there is no pairing to make, and nothing is stored. Files on their way and
            the apps' directories are in DIR/files.
            Apply a configuration for the secondaries with: tandem apply --device DIR/primary.sock --app APP FILE
            ('tandem status --device DIR/primary.sock' shows the device that it is targeted at).
            Another secondary becomes the active one with: tandem switch --device DIR/primary.sock secondary-2
            A simulated device allows invalid signatures: an app that allows them too, as a debug build does, applies a
            configuration that no trusted key has signed. It answers 'status', 'switch', 'trust', 'apply' and
            'configuration', and the commands that are apps ('send', 'receive', 'context', 'transfers'). It has no
            'settings', pages, 'health', 'apps', 'dead-letters' or 'unpair', and takes no links from an app. Two real
            daemons on this machine have all of these:
              tandem primary   --state hub   --local ./hub.sock   --listen 127.0.0.1:4747 --name hub
              tandem secondary --state kiosk --local ./kiosk.sock --name kiosk
              tandem pair --device ./hub.sock --link-only | tandem join --device ./kiosk.sock
            """,
        examples: ["simulate --local /tmp/pair", "simulate --local /tmp/hub --secondaries 100"]
    ) { arguments, console in
        let secondaries = try arguments.integer("secondaries", in: 1...Simulator.secondaryLimit) ?? 1
        let connections =
            try arguments.integer("connections", in: 1...LocalEndpoint.mostConnections) ?? Limits.localConnections
        let directory = try OwnedDirectory(path: try arguments.required("local"))
        try ServiceRun.run(log: try LogOption.level(arguments), on: console) { loop, log, _ in
            let simulator = Simulator(
                scheduler: loop, software: Version.text, user: geteuid(), secondaries: secondaries,
                connections: connections, files: try directory.directory(named: "files"), log: log.handler)
            try simulator.listen(in: directory.path, loop: loop)
            let path = directory.path
            let others = secondaries == 1 ? "" : " to \(path)/secondary-\(secondaries).sock"
            return Service(
                readiness: "ready: \(path)/primary.sock and \(path)/secondary.sock\(others)",
                stop: simulator.stop(completion:))
        }
    }
}
