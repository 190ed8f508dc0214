// Benchmark driver for the rooms that can be measured in process: codec, hostile payloads, verification. It prints one
// line of JSON for each figure; Scripts/bench runs it beside the programs of others on the same inputs.
//
//     tandem-bench codec payloads FILE       reading and writing of property lists
//     tandem-bench codec frames FILE         checking, reading and writing of envelopes
//     tandem-bench hostile FILE              each payload by itself, until it is read or refused
//     tandem-bench verify KEY.pem            signatures under a private key, and a configuration without its signature
//     tandem-bench settings                  reading, loading and changing typed settings
//     tandem-bench settings read TIMES       reading alone, for Scripts/test counts
//     tandem-bench desired                   1,000 secondaries x 20 apps compared with the desired state
//     tandem-bench fleet                     one configuration to 1,000 secondaries that verify it, and 100 rotations

import Glibc
import TandemCrypto
import TandemFiles
import TandemPropertyList

@main
enum Driver {
    static func main() {
        do {
            try run(Array(CommandLine.arguments.dropFirst()))
        } catch {
            let line = Array("tandem-bench: \(error)\n".utf8)
            write(STDERR_FILENO, line, line.count)
            exit(1)
        }
    }

    private static func run(_ arguments: [String]) throws {
        switch (arguments.first, arguments.dropFirst().first, arguments.count) {
        case ("codec", "payloads", 3): try CodecBench(PayloadFile(path: arguments[2])).report()
        case ("codec", "frames", 3): try EnvelopeBench(PayloadFile(path: arguments[2])).report()
        case ("hostile", let path?, 2): try hostile(path)
        case ("verify", let path?, 2): try VerificationBench(key(path)).report()
        case ("desired", nil, 1): try DesiredBench().report()
        case ("fleet", nil, 1): try FleetBench().report()
        case ("settings", nil, 1): try SettingsBench().report()
        case ("settings", "read", 3): SettingsBench().read(times: Int(arguments[2]) ?? 0)
        default:
            throw BenchError(
                text: "usage: tandem-bench codec payloads|frames FILE, hostile FILE, verify KEY, desired, fleet, "
                    + "settings")
        }
    }

    /// The worst payload counts, so each one is a figure.
    private static func hostile(_ path: String) throws {
        for payload in try PayloadFile(path: path).payloads {
            let isAccepted = (try? PropertyListReader.read(payload)) != nil
            try Rounds(count: 20).figure(isAccepted ? "read" : "refused", over: [payload]) {
                Sink.keep(try? PropertyListReader.read($0))
            }.report()
        }
    }

    private static func key(_ path: String) throws -> PrivateKey {
        var bytes = try FileReading.read(path: path, limit: 64 << 10)
        return try PrivateKey(pem: SecretBytes(taking: &bytes))
    }
}

/// A reason to end without figures.
struct BenchError: Error, CustomStringConvertible {
    let text: String

    var description: String { text }
}

/// Payloads in a file, in the framing of the wire (FRM-1), so that captured frames are such a file too.
struct PayloadFile {
    /// More than a hundred of the largest frames.
    private static let largest = 64 << 20

    let payloads: [[UInt8]]

    init(path: String) throws {
        var rest = try FileReading.read(path: path, limit: Self.largest)[...]
        var payloads: [[UInt8]] = []
        while !rest.isEmpty {
            let size = rest.prefix(4).reduce(0) { $0 << 8 | Int($1) }
            guard rest.count >= 4, size <= rest.count - 4 else {
                throw BenchError(text: "\(path) ends within a payload; each comes after 4 bytes of its length")
            }
            payloads.append(Array(rest.dropFirst(4).prefix(size)))
            rest = rest.dropFirst(4 + size)
        }
        guard !payloads.isEmpty else { throw BenchError(text: "\(path) holds no payloads") }
        self.payloads = payloads
    }
}
