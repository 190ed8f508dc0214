// The control commands about pairings: making and using join links, manual trust, ending a pairing.

import TandemBase
import TandemCrypto
import TandemPairing
import TandemPropertyList
import TandemReactor
import TandemSession
import TandemStore
import TandemTransport
import TandemWire

extension Node {
    /// A link lives at most a day: whoever needs longer makes another one.
    private static var longestLife: Int64 { 24 * 3600 }

    func pair(_ body: BodyFields, _ completion: @escaping Answering) throws(WireError) {
        let seconds = try body.optional("seconds", "seconds from 1 to 86400") { value in
            value.integerValue.flatMap { (1...Self.longestLife).contains($0) ? $0 : nil }
        }
        guard let address = options.advertise ?? listening.first(where: { !$0.isWildcard }) else {
            return completion(.failed(.noAddress, text: "this daemon accepts no device links; start it with --listen"))
        }
        let life = seconds.map { Duration.seconds($0) } ?? Limits.joinTokenLife
        guard let token = JoinTokenIdentifier(bytes: SecureRandom.bytes(JoinTokenIdentifier.byteCount)),
            let link = try? JoinLink(
                address: address.description, token: token,
                secret: SecretBytes(randomCount: JoinTokenIdentifier.byteCount),
                primary: device.keys.device.publicKey.identifier, expires: loop.wallNow + life, name: options.name)
        else { return completion(.failed(.noAddress, text: "the address '\(address)' does not fit a join link")) }
        registry.perform(
            { next in
                let changes = next.issue(link.token, secret: link.secret, expires: link.expires)
                let answer: PropertyListDictionary = [
                    "link": .string(link.text), "expires": .integer(link.expires.milliseconds),
                ]
                return (changes.map(\.rowChange), { completion(.done(answer)) })
            },
            failure: { [self] in fail($0, completion) })
    }

    func join(_ body: BodyFields, _ completion: @escaping Answering) throws(WireError) {
        let text = try body.string("link")
        let link: JoinLink
        do { link = try JoinLink(text: text) } catch {
            return completion(.failed(.badRequest, text: "link: \(error)"))
        }
        join(.link(link)) { outcome in
            switch outcome {
            case .success(let record): completion(.done(Self.joined(record)))
            case .failure(let failure): completion(.failed(failure.controlName, text: failure.description))
            }
        }
    }

    private static func joined(_ record: PairingRecord) -> PropertyListDictionary {
        var answer: PropertyListDictionary = ["pairing": .data(record.pairing.bytes), "name": .string(record.name)]
        answer["peer"] = record.peerVendorIdentifier.map { .data($0.bytes) }
        return answer
    }

    /// Joins a primary, stores the pending pairing and dials it.
    func join(
        _ credential: JoinAttempt.Credential, then completion: @escaping (Result<PairingRecord, JoinFailure>) -> Void
    ) {
        var name: ObjectIdentifier?
        let client = JoinClient(
            credential, own: ownDevice, context: context,
            commit: { [weak self] record, done in self?.store(record, done) },
            completion: { [weak self] outcome in
                if let name { self?.joins[name] = nil }
                if case .success(let record) = outcome, let self, let stored = registry.state[record.pairing] {
                    dial(stored)
                }
                completion(outcome)
            })
        let identifier = ObjectIdentifier(client)
        name = identifier
        joins[identifier] = client
        client.start(over: network.dialling)
    }

    private func store(_ record: PairingRecord, _ done: @escaping (Result<Void, JoinFailure>) -> Void) {
        registry.perform(
            { [self] next in
                do throws(JoinAnswerError) {
                    let changes = try next.joined(record)
                    return (
                        changes.map(\.rowChange),
                        { [self] in
                            introduce(record)
                            done(.success(()))
                        }
                    )
                } catch {
                    return ([], { done(.failure(.answer(error))) })
                }
            },
            failure: { error in done(.failure(.notStored(error.description))) })
    }

    // MARK: manual trust

    func trustDevice(_ body: BodyFields, _ completion: @escaping Answering) throws(WireError) {
        let pin = try body.required("fingerprint", "a fingerprint") { value in
            value.stringValue.flatMap { KeyIdentifier(text: $0) }
        }
        let role = try body.role("role")
        let address = try body.optionalString("address")
        if role == .primary {
            guard let address, (try? SocketAddress(address)) != nil else {
                return completion(
                    .failed(.noAddress, text: "trusting a primary needs its address, HOST:PORT or unix:PATH"))
            }
        }
        let trusted = TrustedDevice(pin: pin, role: role, address: address, name: try body.optionalString("name"))
        registry.perform(
            { next in
                let changes = next.trust(trusted).map(\.rowChange)
                return (
                    changes,
                    { [self] in
                        completion(.done())
                        if role == .primary { joinByTrust(trusted) }
                    }
                )
            },
            failure: { [self] in fail($0, completion) })
    }

    /// Joins the primaries that are trusted by hand and not paired yet.
    func joinTrusted() {
        for trusted in registry.state.trusted.devices(as: .primary) { joinByTrust(trusted) }
    }

    /// Tries until the primary has trusted this device as well.
    private func joinByTrust(_ trusted: TrustedDevice) {
        let isPaired = registry.state.pairings.contains { $0.peer == trusted.pin && $0.role == .secondary }
        guard !isPaired, !isStopping, registry.state.isTrusted(trusted.pin, as: .primary) else { return }
        join(.trust(trusted)) { [weak self] outcome in
            guard let self, case .failure(let failure) = outcome else { return }
            log(LogEvent(.info, "trusted primary not joined yet", .outside("reason", failure.description)))
            let wait = trustRetries[trusted.pin, default: Backoff()].next(random: random())
            loop.schedule(after: wait) { [weak self] in self?.joinByTrust(trusted) }
        }
    }

    // MARK: ending

    func unpair(_ body: BodyFields, _ completion: @escaping Answering) throws(WireError) {
        let record: PairingRecord
        switch try pairing(namedBy: body) {
        case .found(let found): record = found
        case .unclear(let text): return completion(.failed(.notFound, text: text))
        }
        let targets = targets(through: record)
        registry.perform(
            { [self] next in
                let rows = next.unpair(record.pairing).map(\.rowChange) + removal(of: record.pairing)
                return (
                    rows,
                    { [self] in
                        forget(record, targets: targets)
                        completion(.done())
                    }
                )
            },
            failure: { [self] in fail($0, completion) })
    }

    func fail(_ error: StoreError, _ completion: Answering) {
        report(error)
        if case .full = error { return completion(.failed(.full, text: error.description)) }
        completion(.failed(.store, text: error.description))
    }
}

extension JoinFailure {
    /// The name of CTL-4.
    fileprivate var controlName: ControlFailure {
        switch self {
        case .address, .unreachable: .unreachable
        case .connection(.refusedByPeer), .answer, .malformed: .joinRefused
        case .connection: .unreachable
        case .notStored: .store
        }
    }
}
