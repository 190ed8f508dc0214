// A daemon's life: it listens and dials, and when it is told to stop it lets everything finish that was accepted, within
// a time that nobody can make longer.

import TandemBase
import TandemPairing
import TandemReactor
import TandemStore
import TandemTransport

extension Node {
    /// Listens and dials from now on.
    package func start() throws(NodeError) {
        for address in options.listen where address.isWildcard && options.advertise == nil {
            throw .needsAdvertise(address)
        }
        carrier.start()
        exchange.resume()
        itemsMayWait()
        try listen()
        for record in registry.state.pairings { dial(record) }
        joinTrusted()
        scheduleExpiry()
        log(
            LogEvent(
                .info, "started", .text("role", options.role.rawValue), .text("local", options.local),
                .text("listening", listening.map(\.description).joined(separator: " ")), .text("state", options.state)))
    }

    private func listen() throws(NodeError) {
        do throws(ListenError) {
            for address in options.listen { listening.append(try network.listen(at: address, for: acceptor)) }
            let access = options.localGroup.map { SocketAccess.group($0) } ?? .owner
            try network.listen(at: .unix(path: options.local), access: access, for: local)
        } catch {
            acceptor.close()
            throw .listen(error)
        }
    }

    /// Lets everything finish that was accepted, then calls back; the store is closed by then (SES-18).
    package func stop(completion: @escaping () -> Void) {
        guard !isStopping else { return }
        isStopping = true
        log(LogEvent(.info, "stopping"))
        acceptor.close()
        starter?.stop()
        for dialer in dialers.values { dialer.stop() }
        for join in joins.values { join.cancel() }
        local.stop()
        // Bounded as a whole: an app that does not read must not keep a daemon from stopping.
        loop.schedule(after: Self.stopTime) { [self] in closeStore(completion) }
        relay.stop(within: Self.answerTime) { [self] in
            context.links.endAll(.stopping)
            local.close { [self] in closeStore(completion) }
        }
    }

    /// What was accepted may take this long to be finished (SES-18), and requests this long to be answered.
    private static var stopTime: Duration { .seconds(5) }
    private static var answerTime: Duration { .milliseconds(4500) }

    /// Waits until the store has done what was asked of it: for a clock that a test moves.
    package func settleStore() {
        _ = try? device.store.read(RowRange(space: .pairing, limit: 1))
        files.waitForDisk()
        pairingDirectories.waitForDisk()
    }

    /// Lets the state go as the end of the process would, and finishes nothing. Its scheduler must run nothing of this
    /// daemon any more.
    package func abandon() {
        isStopping = true
        files.close()
        pairingDirectories.close()
        device.close()
    }

    private func closeStore(_ completion: @escaping () -> Void) {
        guard !isClosingStore else { return }
        isClosingStore = true
        files.close()
        pairingDirectories.close()
        // What this turn has changed is committed at its end; then the last commits are in their order, and an empty
        // one tells when they are done.
        loop.atEndOfTurn { [self] in
            store.commit([]) { [self] _ in
                device.close()
                log(LogEvent(.info, "stopped"))
                completion()
            }
        }
    }
}
