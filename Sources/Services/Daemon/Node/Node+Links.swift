// Links and joins: the registry judges, the store makes it last, and then the peer gets its answer.

package import TandemBase
package import TandemCrypto
import TandemDelivery
package import TandemPairing
import TandemReactor
import TandemSession
import TandemStore
package import TandemWire

extension Node: LinkAuthority {
    package func isPinned(_ pin: KeyIdentifier) -> Bool { registry.state.isPinned(pin, now: loop.wallNow) }

    package func situation(of pairing: UniqueIdentifier) -> LinkSituation? {
        guard let record = registry.state[pairing] else { return nil }
        let positions = exchange.positions(of: pairing)
        let mark = { (position: (key: QueueKey, sequence: UInt64)) in
            SequenceMark(app: position.key.app, channel: position.key.channel, sequence: position.sequence)
        }
        return LinkSituation(
            epoch: record.epoch, received: positions.received.map(mark), sent: positions.sent.map(mark))
    }

    package func judge(
        _ hello: PairingRegistry.PeerHello, peerSituation: LinkSituation, completion: @escaping (HelloVerdict) -> Void
    ) {
        let now = loop.wallNow
        registry.perform(
            { [self] next in
                let before = next
                switch next.hello(hello, now: now) {
                case .refused(let name, let event):
                    next = before
                    return ([], { [self] in refuse(name, event, completion) })
                case .accepted(let record, let changes, let superseded, _, let event):
                    let old = superseded.compactMap { before[$0] }.map { ($0, targets(through: $0)) }
                    let rows = changes.map(\.rowChange) + superseded.flatMap { removal(of: $0) }
                    return (rows, { [self] in accept(record, replacing: old, event, completion) })
                }
            },
            failure: { [self] error in
                report(error)
                completion(.refused(.stopping))
            })
    }

    private func refuse(_ name: RefusalName, _ event: PairingEvent, _ completion: (HelloVerdict) -> Void) {
        log(event.logEvent)
        completion(.refused(name))
    }

    private func accept(
        _ record: PairingRecord, replacing old: [(PairingRecord, [ApplicationIdentifier: PairedIdentifier])],
        _ event: PairingEvent?,
        _ completion: (HelloVerdict) -> Void
    ) {
        for (record, targets) in old { forget(record, targets: targets) }
        introduce(record)
        chooseActive()
        if let event { log(event.logEvent) }
        guard let situation = situation(of: record.pairing) else { return completion(.refused(.notPaired)) }
        completion(.accepted(record, situation: situation))
    }

    package func judge(
        _ join: JoinRequest, peer: KeyIdentifier, exporter: [UInt8], completion: @escaping (JoinVerdict) -> Void
    ) {
        let circumstances = PairingRegistry.JoinCircumstances(
            peer: peer, exporter: exporter, newPairing: .random(), now: loop.wallNow)
        let own = ownDevice
        registry.perform(
            { [self] next in
                switch next.join(join, own: own, at: circumstances) {
                case .joined(let answer, let changes, let event):
                    let record = next[answer.pairing]
                    return (
                        changes.map(\.rowChange),
                        { [self] in
                            log(event.logEvent)
                            if let record { introduce(record) }
                            completion(.joined(answer))
                        }
                    )
                case .refused(let name, let changes, let event):
                    return (
                        changes.map(\.rowChange),
                        { [self] in
                            log(event.logEvent)
                            completion(.refused(name))
                        }
                    )
                }
            },
            failure: { [self] error in
                report(error)
                completion(.refused(.joinRefused))
            })
    }
}

extension Node: LinkDelegate {
    package func linkDidBecomeReady(_ link: Link) {
        hasBeenLinked = true
        observeHealth()
        let endpoint = LinkEndpoint(link, number: relay.nextNumber())
        let port = relay.linkUp(
            endpoint, pairing: link.pairing, role: link.role, capabilities: Array(link.agreement.capabilities))
        link.forwarder = port
        router.open(
            link.pairing, over: link, port: port,
            received: link.peer.situation.received.map { ($0.app, $0.channel, $0.sequence) },
            channels: Set(link.agreement.capabilities.compactMap { Channel(rawValue: $0.rawValue) }))
    }

    package func link(_ link: Link, didReceive envelope: Envelope, in frame: Frame) {
        guard let breach = router.receive(envelope, in: frame, from: link.pairing) else { return }
        link.refuse(breach.name, breach.text)
    }

    package func linkDidDrain(_ link: Link) { router.drained(link.pairing) }

    package func link(_ link: Link, didCloseWith reason: LinkCloseReason) {
        linkDownSince[link.pairing] = loop.now
        linkErrors[link.pairing] = LogTextCut.cut("\(reason)")
        observeHealth()
        router.close(link.pairing, reason.reachabilityReason)
        guard case .endedByPeer(.unpaired) = reason else { return }
        log(LogEvent(.warning, "the other device has ended the pairing", .text("pairing", "\(link.pairing)")))
    }

    package func connectionDidFail(_ failure: LinkFailure) {
        log(
            LogEvent(
                failure.logLevel, "device connection ended before it became a link",
                .text("pairing", failure.pairing?.description ?? "-"), .text("peer", failure.pin?.fingerprint ?? "-"),
                .outside("reason", "\(failure.reason)")))
        guard let pairing = failure.pairing, let record = registry.state[pairing] else { return }
        linkErrors[pairing] = LogTextCut.cut("\(failure.reason)")
        relay.setLinkDown(failure.reason.reachabilityReason, pairing: pairing, role: record.role)
    }
}

extension RelayPort: LinkForwarder {}

extension LinkFailure {
    /// Strangers can cause any number of these; another key than the pinned one is for the operator to look at.
    fileprivate var logLevel: LogLevel {
        if case .notSecured(.wrongPin) = reason { return .warning }
        return isStranger ? .debug : .info
    }
}

extension LinkCloseReason {
    /// What host apps see as the reason for being unreachable.
    fileprivate var reachabilityReason: ReachabilityReason {
        switch self {
        case .noHeartbeat: .noHeartbeat
        case .refused(.version, _), .refused(.versionLowered, _), .refusedByPeer(.version),
            .refusedByPeer(.versionLowered):
            .version
        case .ended(.stopping), .endedByPeer(.stopping): .stopping
        default: .noLink
        }
    }
}
