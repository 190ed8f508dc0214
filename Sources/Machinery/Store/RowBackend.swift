// What keeps rows: the store's file, or memory for the simulator and for tests on a manual clock.

/// Keeps ordered rows. Completions come in the order of submission, on any thread.
package protocol RowBackend: AnyObject, Sendable {
    /// Makes the changes durable together, or none of them.
    func commit(_ changes: [RowChange], completion: @escaping @Sendable (Result<Void, StoreError>) -> Void)

    /// Reads the rows after every commit submitted before.
    func fetch(_ range: RowRange, completion: @escaping @Sendable (Result<[Row], StoreError>) -> Void)
}

extension Store: RowBackend {}
