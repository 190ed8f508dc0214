// Our own reading and writing of bodies against the vectors that are given to others (Protocol/Vectors/frames).

import TandemBase
import TandemPropertyList
import TandemSession
import TandemTestSupport
import TandemWire
import Testing

@Suite struct BodyVectorTests {
    static let cases = VectorCase.all(in: "frames/bodies.json")

    /// A body read by our types and written again.
    private func written(_ kind: FrameKind, _ body: PropertyListDictionary) throws -> PropertyListDictionary? {
        let now = MonotonicTime(nanoseconds: 1_000_000_000_000)
        switch kind {
        // Only a server's has a version.
        case .hello: return try Hello(body: body, from: body["version"] == nil ? .client : .server).body
        case .register: return try Registration(body: body).body
        case .application: return try ApplicationAnnouncement(body: body).body
        case .state: return try SessionState(body: body, now: now).body(now: now)
        default: return nil
        }
    }

    @Test("SES-2, SES-5, SES-7, SES-16: the vectors are there, for each kind that is read and that is refused")
    func areThere() {
        for kind in ["hello", "register", "application", "state"] {
            let ofKind = Self.cases.filter { $0.pairs["kind"]?.stringValue == kind }
            #expect(ofKind.count >= 10 && ofKind.contains { $0.error == nil } && ofKind.contains { $0.error != nil })
        }
    }

    @Test(
        "SES-2, SES-5, SES-7, SES-16, SES-36: a body says what its vector says, or is refused by its name",
        arguments: cases)
    func body(vector: VectorCase) throws {
        let kind = try #require(vector.pairs["kind"]?.stringValue.flatMap { FrameKind(rawValue: $0) })
        let value = try vector.checkedValue()
        guard let refusal = vector.error else {
            let means = TypedNotation.value(vector.pairs["means"])?.dictionaryValue ?? value
            #expect(try written(kind, value) == means)
            return
        }
        let error = #expect(throws: WireError.self) { try written(kind, value) }
        #expect(error?.refusalName.rawValue == refusal)
    }
}
