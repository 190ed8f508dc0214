// `receive --files DIR`: moves each file that arrives into a directory, under a name that is free there, and prints one
// line for it.

import PairedSession
import TandemBase
import TandemFiles
import TandemPropertyList
import TandemWire

/// Where received files go.
struct ReceiveFiles: Sendable {
    private static let attempts = 1_000

    let directory: String

    /// Takes a file for each place, then returns.
    func run(_ session: PairedSession, _ places: Places, _ console: Console) async throws {
        guard (try? OwnedDirectory(existing: directory)) != nil else {
            throw CommandFailure.refused("\(directory) is not a directory of this user that others cannot write to")
        }
        let handling = session.handleFiles { file in try places.take { try take(file, console) } }
        try await session.activate(timeout: HostSession.patience)
        await places.allTaken()
        // The session ends behind the last verdict.
        await handling.finish()
    }

    private func take(_ file: ReceivedFile, _ console: Console) throws {
        var line: PropertyListDictionary = [
            "file": .string(try move(file)), "name": .string(file.name), "size": .integer(file.size),
            "sha256": .string(Hexadecimal.encode(file.digest)),
        ]
        line["metadata"] = file.metadata.map { .dictionary($0) }
        console.print(json: .dictionary(line))
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
