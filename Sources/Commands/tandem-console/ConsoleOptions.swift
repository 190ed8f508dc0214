// Arguments of the console. Other addresses than this machine's own take the operator's certificate: a token must not
// travel in clear.

import TandemConsole
import TandemControl
import TandemFiles
import TandemTransport

/// The parsed arguments.
struct ConsoleOptions {
    static let help = """
        tandem-console: a daemon's devices, apps and settings in a browser

        usage: tandem-console [OPTIONS]

        options:
          --device primary|secondary|PATH  which running daemon to show (default: the only one)
          --address HOST:PORT|unix:PATH    where to serve (default 127.0.0.1:4780; port 0 is any free one)
          --certificate FILE --key FILE    serve with TLS; needed for an address that other machines reach
          --name HOST[:PORT]               a further name by which browsers call it (may be repeated); without PORT
                                           at the port of --address, and HOST:443 says the usual one of https
          --help                           show this help
          --version                        show the version

        It prints an address with a token that lets one browser in; then it prints the next one. Of this machine's
        users it serves its own and root alone: start it as the user of the browser. A tunnel to another port needs
        that port's name, such as --name localhost:8080.
        Exit codes: 0 done, 1 refused or failed, 2 wrong call, 3 no daemon answers.

        example:
          tandem-console --device ./hub.sock
        """

    /// The daemon's local socket.
    let daemon: String
    let address: SocketAddress
    /// PEM texts of the certificate and its key.
    let identity: (certificate: [UInt8], key: [UInt8])?
    private let names: [ConsoleName]

    init(_ arguments: [String]) throws {
        var values: [String: [String]] = [:]
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            let name = parts.first ?? ""
            guard Self.known.contains(name) else { throw CommandFailure.usage("unknown argument '\(argument)'") }
            guard let value = parts.count == 2 ? parts[1] : rest.popFirst() else {
                throw CommandFailure.usage("\(name): the value is missing")
            }
            if values[name] != nil, name != "--name" { throw CommandFailure.usage("\(name) is given twice") }
            values[name, default: []].append(value)
        }
        names = try (values["--name"] ?? []).map { text in
            guard let name = ConsoleName(text) else {
                throw CommandFailure.usage("--name: '\(text)' is no HOST or HOST:PORT")
            }
            return name
        }
        do { address = try SocketAddress(values["--address"]?[0] ?? "127.0.0.1:4780") } catch {
            throw CommandFailure.usage("--address: \(error)")
        }
        identity = try Self.identity(values["--certificate"]?[0], values["--key"]?[0])
        guard identity != nil || address.isOfThisMachine else {
            throw CommandFailure.usage(
                "\(address) can be reached from other machines: that takes --certificate and --key")
        }
        guard !address.isWildcard || !names.isEmpty else {
            throw CommandFailure.usage("\(address) is no name: say with --name how browsers call the console")
        }
        daemon = try DaemonChoice(device: values["--device"]?[0]).path()
    }

    private static let known = ["--device", "--address", "--certificate", "--key", "--name"]

    private static func identity(
        _ certificate: String?, _ key: String?
    ) throws -> (certificate: [UInt8], key: [UInt8])? {
        switch (certificate, key) {
        case (nil, nil): return nil
        case (let certificate?, let key?):
            return (
                try FileReading.read(path: certificate, limit: 1 << 20, followsLinks: true),
                try FileReading.read(path: key, limit: 1 << 20, trust: .ownAndPrivate, followsLinks: true)
            )
        default: throw CommandFailure.usage("--certificate and --key belong together")
        }
    }

    var scheme: String { identity == nil ? "http" : "https" }

    /// The names by which browsers may call the console at the address that was bound, the printed one first.
    func hosts(at bound: SocketAddress) -> [String] {
        let local = ConsoleName(host: "localhost")
        guard case .tcp(let host, let port) = bound else {
            return ([local] + names).map { $0.text(scheme: scheme, bound: nil) }
        }
        let own = bound.isWildcard ? [] : [ConsoleName(host: host)]
        return (names + own + (bound.isOfThisMachine ? [local] : [])).map { $0.text(scheme: scheme, bound: port) }
    }
}

extension SocketAddress {
    /// Whether only this machine reaches it.
    fileprivate var isOfThisMachine: Bool {
        switch self {
        case .unix: true
        case .tcp: isLoopback
        }
    }
}
