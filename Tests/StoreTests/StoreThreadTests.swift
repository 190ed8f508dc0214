// The watchdog: using the connection off its thread is a bug of ours and ends the process at once.

import Glibc
import TandemTestSupport
import Testing

@testable import TandemStore

/// Carries a connection to another thread, which is a bug.
///
/// `@unchecked` is not true here: the test expects that the connection traps on another thread.
private struct Smuggler: @unchecked Sendable {
    let connection: Connection
}

private func makeConnection(in directory: TemporaryDirectory) -> Connection? {
    let path = directory.path("store")
    guard (try? StoreFile.createIfMissing(path: path, fileSystem: nil)) != nil else { return nil }
    return try? Connection.checked(path: path, fileSystem: nil)
}

private let someRows = RowRange(space: RowSpace(rawValue: 1))

@Suite struct StoreThreadTests {
    @Test func aConnectionOffItsThreadTraps() async {
        await #expect(processExitsWith: .signal(SIGILL)) {
            guard let connection = makeConnection(in: TemporaryDirectory()) else { return }
            let smuggler = Smuggler(connection: connection)
            _ = try? StoreThread(path: "", meanwhile: {}) { report in
                _ = try? smuggler.connection.rows(someRows)
                report(.success(()))
            }
        }
    }

    @Test func aConnectionOnItsThreadDoesNot() async {
        await #expect(processExitsWith: .exitCode(7)) {
            guard let rows = try? makeConnection(in: TemporaryDirectory())?.rows(someRows) else { return }
            exit(rows.isEmpty ? 7 : 0)
        }
    }
}
