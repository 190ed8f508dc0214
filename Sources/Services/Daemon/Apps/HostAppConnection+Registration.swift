// From `register` to `registered` (SES-5, SES-6): whose the app is, whether its messages are taken already, and only
// then a place in the relay.

import TandemBase
import TandemPropertyList
import TandemReactor
import TandemSession
import TandemTransport
import TandemWire

extension HostAppConnection {
    func register(_ envelope: Envelope, _ capabilities: [Capability]) throws(WireError) {
        guard let app = envelope.app else { throw .missingKey(.app, .register) }
        register(app, try TandemSession.Registration(body: envelope.dictionaryBody()), capabilities)
    }

    private func register(
        _ app: ApplicationIdentifier, _ registration: TandemSession.Registration, _ capabilities: [Capability]
    ) {
        // Whose the app is comes first: nobody else learns whether it is connected.
        if let owner = endpoint.owner(of: app), owner != credentials.user {
            return refuse(.appOwned, "\(app) belongs to another user")
        }
        let application = ConnectedApplication(
            app: app, role: endpoint.options.role, user: credentials.user, registration: registration,
            takesConfiguration: capabilities.contains(.configuration))
        if registration.receives {
            guard endpoint.receivers[app] == nil else {
                return refuse(Refusal(.alreadyReceiving, "another connection takes the messages of \(app)"))
            }
            endpoint.receivers[app] = self
        }
        phase = .registering
        channel.pauseReading()
        // Not weakly: a weak reference would make each later use of the connection slower, and it completes in any
        // case.
        endpoint.claim(app, by: credentials.user) { [self] refusal in claimed(application, capabilities, refusal) }
    }

    private func claimed(_ application: ConnectedApplication, _ capabilities: [Capability], _ refusal: Refusal?) {
        guard case .registering = phase else { return endpoint.release(application.app, from: self) }
        channel.resumeReading()
        if let refusal {
            endpoint.release(application.app, from: self)
            return refuse(refusal)
        }
        enter(application, capabilities)
    }

    private func enter(_ application: ConnectedApplication, _ capabilities: [Capability]) {
        let app = application.app
        let registration = application.registration
        // Who only sends does not speak for the app.
        endpoint.relay.install(
            app, on: endpoint.side, identifier: registration.identifier,
            features: registration.receives ? registration.features : nil)
        let port = endpoint.relay.attach(
            self, app: app, on: endpoint.side, receives: registration.receives, capabilities: capabilities)
        phase = registration.receives ? .receiving(application) : .registered
        self.port = port
        answer(application)
        endpoint.entered(self, application)
        let channels = capabilities.compactMap(\.channel)
        endpoint.items?.entered(self, app, receives: registration.receives, Set(channels))
    }

    private func answer(_ application: ConnectedApplication) {
        let situation = endpoint.relay.situation(of: application.app, on: endpoint.side)
        do throws(WireError) {
            let frame = try situation.fitted { situation throws(WireError) in
                let answer = RegistrationAnswer(
                    device: endpoint.options.device, role: application.role,
                    directory: endpoint.directory(of: application.app), uid: UInt64(application.user),
                    situation: situation)
                let body = answer.body(now: endpoint.scheduler.now)
                return try Envelope(.registered, app: application.app).with(body: body).frame()
            }
            send(frame)
        } catch {
            refuse(Refusal(.tooLarge, "\(error)"))
        }
    }
}
