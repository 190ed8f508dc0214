// A wait of a command that may be limited.

/// Whether the wait ends within the time, at the end of which it is cancelled; without a time it takes as long as it
/// takes.
func ends(within time: Duration?, _ wait: @escaping @Sendable () async throws -> Void) async throws -> Bool {
    try await withThrowingTaskGroup(of: Bool.self) { group in
        group.addTask {
            try await wait()
            return true
        }
        if let time {
            group.addTask {
                try await Task.sleep(for: time)
                return false
            }
        }
        defer { group.cancelAll() }
        return try await group.next() ?? false
    }
}
