// Received values that move to the main actor, a reply that is awaited, and the progress of a file without key-value
// observing.

import Foundation
import PairedSessionFoundation

// snippet.mainActor
@MainActor final class Model {
    var context: [String: Any] = [:]
}

final class ModelDelegate: WCSessionDelegate, Sendable {
    private let model: Model

    init(_ model: Model) { self.model = model }

    func session(
        _ session: WCSession, activationDidCompleteWith activationState: WCSessionActivationState, error: Error?
    ) {}

    func session(_ session: WCSession, didReceiveApplicationContext applicationContext: sending [String: Any]) {
        Task { @MainActor in model.context = applicationContext }
    }

    func session(
        _ session: WCSession, didReceiveMessage message: [String: Any],
        replyHandler: @escaping @Sendable ([String: Any]) -> Void
    ) {
        Task { @MainActor in replyHandler(["count": model.context.count]) }
    }
}

func reply(to message: [String: Any]) async throws -> [String: Any] {
    try await withCheckedThrowingContinuation { continuation in
        WCSession.default.sendMessage(
            message, replyHandler: { continuation.resume(returning: $0) },
            errorHandler: { continuation.resume(throwing: $0) })
    }
}
// snippet.end

// snippet.progress
/// Shows the part of a file that the other device has, four times a second.
func follow(_ transfer: WCSessionFileTransfer, show: @MainActor (Double) -> Void) async throws {
    while transfer.isTransferring {
        let (completed, total) = (transfer.progress.completedUnitCount, transfer.progress.totalUnitCount)
        if total > 0 { await show(Double(completed) / Double(total)) }
        try await Task.sleep(for: .milliseconds(250))
    }
}
// snippet.end
