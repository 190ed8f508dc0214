// For whom a configuration is: exact bytes of the paired identifier, one side, one application, perhaps some devices.

import TandemBase
import TandemPropertyList
import TandemSignedConfiguration
import Testing

@Suite struct TargetTests {
    @Test("THR-1: an app applies only what its key signed, for this app, side and identifier, in a new version")
    func onlyWhatItsKeySigned() throws {
        let other = try PairedIdentifier(text: "custom:hw-2")
        let strange = try ConfigurationSigner.sign(try Fixture.payload(), with: [Fixture.stranger])
        let cases: [(Rejection, [UInt8])] = [
            (.threshold, strange),
            (
                .wrongApplication,
                try Fixture.envelope { $0.application = try ApplicationIdentifier("org.example.other") }
            ),
            (.wrongRole, try Fixture.envelope { $0.role = .primary }),
            (.wrongTarget, try Fixture.envelope { $0.target = other }),
            (.rollback, try Fixture.envelope(version: 5)), (.equivocation, try Fixture.envelope(version: 6)),
        ]
        for (rejection, bytes) in cases { try Fixture.expectRejected(bytes, rejection) }
    }

    @Test(
        "CFG-20: any other target is refused",
        arguments: ["custom:hw-2", "custom:HW-1", "custom:hw-1 ", "vendor:0123ABCD-0000-8000-8000-0123456789AB"])
    func anyOtherTargetIsRefused(target: String) throws {
        let bytes = try Fixture.envelope { $0.target = try PairedIdentifier(text: target) }
        try Fixture.expectRejected(bytes, .wrongTarget)
    }

    @Test("CFG-20: a secondary is targeted by its primary and not by itself")
    func aSecondaryIsTargetedByItsPrimaryAndNotByItself() throws {
        let primary = UniqueIdentifier.random()
        let own = try Fixture.device()
        var context = try Fixture.context()
        context.target = .vendor(primary)
        let forPrimary = try Fixture.envelope { $0.target = .vendor(primary) }
        #expect(throws: Never.self) { try ApplicableConfiguration(verifying: forPrimary, in: context) }
        let forItself = try Fixture.envelope { $0.target = .vendor(own) }
        #expect(throws: VerificationFailure(.wrongTarget, "")) {
            try ApplicableConfiguration(verifying: forItself, in: context)
        }
        let asCustomText = try Fixture.envelope { $0.target = .custom(try CustomIdentifier(primary.description)) }
        #expect(throws: VerificationFailure(.wrongTarget, "")) {
            try ApplicableConfiguration(verifying: asCustomText, in: context)
        }
    }

    @Test("CFG-20: a refusal for its target names that of the device")
    func aRefusalNamesTheTargetOfTheDevice() throws {
        let (target, own) = (try PairedIdentifier(text: "custom:new"), try PairedIdentifier(text: "custom:old"))
        let bytes = try Fixture.envelope { $0.target = target }
        let cases: [(PairedIdentifier?, String)] = [(own, "'custom:old' is this"), (nil, "this device has no paired")]
        for (identifier, text) in cases {
            var context = try Fixture.context()
            context.target = identifier
            #expect {
                try ApplicableConfiguration(verifying: bytes, in: context)
            } throws: { error in
                let failure = error as? VerificationFailure
                return failure?.rejection == .wrongTarget
                    && failure?.detail.hasPrefix(text) == true
                    && failure?.detail.hasSuffix("; it is for 'custom:new'") == true
            }
        }
    }

    @Test("CFG-20: what is for one secondary is refused by another")
    func whatIsForOneSecondaryIsRefusedByAnother() throws {
        let other = UniqueIdentifier.random()
        try Fixture.expectRejected(try Fixture.envelope { $0.only = [other] }, .wrongTarget)
        let both = try Fixture.envelope { $0.only = [other, try Fixture.device()] }
        #expect(throws: Never.self) { try ApplicableConfiguration(verifying: both, in: try Fixture.context()) }
    }

    @Test("CFG-10: a primary's daemon chooses the secondaries of the target, or says why there is none")
    func theSecondariesOfTheTarget() throws {
        let (lamp, shelf) = (UniqueIdentifier.random(), UniqueIdentifier.random())
        let (target, other) = (try PairedIdentifier(text: "custom:hw-1"), try PairedIdentifier(text: "custom:hw-2"))
        var payload = try Fixture.payload()
        payload.target = target
        func chosen(_ secondaries: (PairedIdentifier?, UniqueIdentifier?)...) throws -> [UniqueIdentifier?] {
            try payload.selection(from: secondaries, known: other) { ($0.0, $0.1) }.map(\.1)
        }
        #expect(try chosen((target, lamp), (other, shelf), (nil, nil), (target, nil)) == [lamp, nil])
        payload.only = [lamp]
        #expect(try chosen((target, lamp), (target, shelf), (target, nil)) == [lamp])
        #expect(payload.absent(from: [lamp, nil]) == [])
        #expect(payload.absent(from: [shelf, nil]) == [lamp])
        #expect {
            try chosen((target, shelf))
        } throws: {
            ($0 as? VerificationFailure)?.detail == "'only' names no secondary that is paired"
        }
        #expect {
            try chosen((other, lamp), (nil, lamp))
        } throws: { error in
            let failure = error as? VerificationFailure
            return failure?.rejection == .wrongTarget
                && failure?.detail == "it is for 'custom:hw-1'; the paired identifier of this device's secondaries is "
                    + "'custom:hw-2'"
        }
        let below = try PairedIdentifier(text: "custom:hw-3")
        #expect {
            try chosen((other, lamp), (below, shelf))
        } throws: { error in
            (error as? VerificationFailure)?.detail.hasSuffix("is 'custom:hw-2', of far secondaries 'custom:hw-3'")
                == true
        }
    }

    @Test("CFG-20: the other side's configuration is refused")
    func theOtherSidesConfigurationIsRefused() throws {
        try Fixture.expectRejected(try Fixture.envelope { $0.role = .primary }, .wrongRole)
        let other = try ApplicationIdentifier("org.example.other")
        try Fixture.expectRejected(try Fixture.envelope { $0.application = other }, .wrongApplication)
        try Fixture.expectRejected(try Fixture.envelope { $0.keySetVersion = 2 }, .oldKeySet)
    }

    @Test("CFG-21: the primary never checks target or version")
    func thePrimaryNeverChecksTargetOrVersion() throws {
        var context = try Fixture.context(.forwarding)
        context.target = nil
        context.mark = VersionMark(version: 100, digest: nil, keySetVersion: 1)
        let bytes = try Fixture.envelope()
        #expect(throws: Never.self) { try ApplicableConfiguration(verifying: bytes, in: context) }
        context.now = WallTime(seconds: 0)
        #expect(throws: VerificationFailure(.clockUnset, "")) {
            try ApplicableConfiguration(verifying: bytes, in: context)
        }
    }
}
