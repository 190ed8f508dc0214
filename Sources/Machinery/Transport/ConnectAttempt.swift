// One socket on its way to one address.

internal import TandemReactor

/// A connected socket in the hand of whoever takes it first.
final class ConnectedSocket {
    let address: NetworkAddress
    private var descriptor: OwnedDescriptor?

    init(takingOwnership descriptor: consuming OwnedDescriptor, address: NetworkAddress) {
        self.descriptor = consume descriptor
        self.address = address
    }

    func take() -> OwnedDescriptor? { descriptor.take() }
}

/// Tells its outcome once, unless it is abandoned.
final class ConnectAttempt: ReadinessTarget {
    private let address: NetworkAddress
    private let loop: EventLoop
    private var descriptor: OwnedDescriptor?
    private var registration: Registration?
    private var completion: ((Result<ConnectedSocket, SystemError>) -> Void)?

    init(
        to address: NetworkAddress, loop: EventLoop,
        completion: @escaping (Result<ConnectedSocket, SystemError>) -> Void
    ) {
        self.address = address
        self.loop = loop
        self.completion = completion
    }

    func begin() {
        do throws(SystemError) {
            let socket = try Linux.socket(for: address)
            let raw = socket.raw
            descriptor = consume socket
            if try Linux.connect(raw, to: address) { return succeed() }
            registration = try loop.register(raw, for: .writable, target: self)
        } catch {
            finish(.failure(error))
        }
    }

    func isReady(_ readiness: Readiness) {
        guard let raw = descriptor?.raw else { return }
        do throws(SystemError) {
            try Linux.checkConnected(raw)
            succeed()
        } catch {
            finish(.failure(error))
        }
    }

    func abandon() {
        completion = nil
        if let registration { loop.deregister(registration) }
        registration = nil
        descriptor = nil
    }

    private func succeed() {
        if let registration { loop.deregister(registration) }
        registration = nil
        guard let connected = descriptor.take() else { return }
        finish(.success(ConnectedSocket(takingOwnership: connected, address: address)))
    }

    private func finish(_ outcome: Result<ConnectedSocket, SystemError>) {
        let completion = completion
        abandon()
        completion?(outcome)
    }
}
