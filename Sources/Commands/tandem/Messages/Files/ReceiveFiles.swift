// `receive --files DIR`: moves each file that arrives into a directory, under a name that is free there, and prints one
// line for it.

import PairedSession
import TandemFiles
import TandemIdentity
import TandemPropertyList
import TandemWire

/// Where received files go.
struct ReceiveFiles: Sendable {
    private static let attempts = 1_000

    let directory: String

    /// Takes so many files, then returns.
    func run(_ session: PairedSession, count: Int, _ console: Console) async throws {
        guard (try? OwnedDirectory(existing: directory)) != nil else {
            throw CommandFailure.refused("\(directory) is not a directory of this user that others cannot write to")
        }
        let (taken, continuation) = AsyncStream.makeStream(of: String.self)
        begin(session, console) { continuation.yield($0) }
        try await session.activate(timeout: HostSession.patience)
        var left = count
        for await path in taken {
            left -= 1
            if left == 0 { return await handled(path) }
        }
    }

    /// Waits until the daemon has heard that the file was handled: it removes the directory in which it gave the file.
    private func handled(_ path: String) async {
        let directory = path.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/")
        for _ in 0..<Self.attempts {
            guard (try? OwnedDirectory(existing: directory)) != nil else { return }
            try? await Task.sleep(for: .milliseconds(5))
        }
    }

    /// Begins to take files; `told` is called for each when it is in its place.
    private func begin(_ session: PairedSession, _ console: Console, told: @escaping @Sendable (String) -> Void) {
        session.handleFiles { file in
            let path = try move(file)
            var line: PropertyListDictionary = [
                "file": .string(path), "name": .string(file.name), "size": .integer(file.size),
                "sha256": .string(Hexadecimal.encode(file.digest)),
            ]
            line["metadata"] = file.metadata.map { .dictionary($0) }
            console.print(json: .dictionary(line))
            told(file.path)
        }
    }

    /// Nothing is overwritten: a name that is taken gets a number.
    private func move(_ file: ReceivedFile) throws(SessionError) -> String {
        let name = file.path.split(separator: "/").last.map(String.init) ?? "file"
        for number in 1...Self.attempts {
            let path = "\(directory)/\(number == 1 ? name : Self.numbered(name, number))"
            do throws(SessionError) {
                try file.move(to: path)
                return path
            } catch {
                guard error.name == "file-exists", number < Self.attempts else { throw error }
            }
        }
        throw SessionError(
            .fileAccessDenied, name: "file-exists", reason: "\(directory) has too many files of this name")
    }

    private static func numbered(_ name: String, _ number: Int) -> String {
        guard let dot = name.lastIndex(of: "."), dot != name.startIndex else { return "\(name)-\(number)" }
        return "\(name[..<dot])-\(number)\(name[dot...])"
    }
}
