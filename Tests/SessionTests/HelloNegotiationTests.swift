// Version and capabilities (SES-2, SES-3).

import TandemSession
import TandemWire
import Testing

struct HelloNegotiationTests {
    private func version(_ number: UInt32) throws -> ProtocolVersion { try #require(ProtocolVersion(number)) }

    private func offer(_ low: UInt32, _ high: UInt32, _ capabilities: Set<Capability> = [.message]) throws -> HelloOffer
    {
        HelloOffer(versions: try version(low)...version(high), capabilities: capabilities)
    }

    @Test("SES-2: the highest common version and the common capabilities are chosen")
    func highestCommon() throws {
        let server = try offer(1, 3, [.message, .configuration])
        let agreement = try server.choose(for: try offer(2, 9, [.message, .messageData]))
        #expect(agreement.version == (try version(3)))
        #expect(agreement.capabilities == [.message])
    }

    @Test("versions N and N-1 interoperate, both ways")
    func neighbours() throws {
        #expect(try offer(1, 2).choose(for: offer(1, 1)).version == version(1))
        #expect(try offer(1, 1).choose(for: offer(1, 2)).version == version(1))
    }

    @Test("SES-2: ranges that do not meet are refused as version")
    func disjoint() throws {
        let server = try offer(2, 3)
        #expect(throws: HelloFailure.version) { try server.choose(for: try offer(1, 1)) }
        #expect(throws: HelloFailure.version) { try server.choose(for: try offer(4, 9)) }
    }

    @Test("SES-21: the text of a refused version says to people what does not fit")
    func texts() {
        #expect("\(HelloFailure.version)" == "no protocol version in common")
        let capability = "it names the capability 'topic', which was not offered"
        #expect("\(HelloFailure.capability(.topic))" == capability)
    }

    @Test("SES-3: a client refuses an answer outside what it asked for")
    func madeUpAnswer() throws {
        let client = try offer(1, 2)
        #expect(throws: HelloFailure.version) { try client.accept(version: try version(3), capabilities: []) }
        #expect(throws: HelloFailure.capability(.configuration)) {
            try client.accept(version: try version(2), capabilities: [.message, .configuration])
        }
    }
}
