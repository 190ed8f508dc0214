// Configurations with waived signatures beside good ones: which of them the app sees, and what their senders hear.

import TandemSignedConfiguration
import Testing

@Suite struct WaivedTrialTests {
    @Test("CFG-35, CFG-61: one that waits for the end of a trial has no file for the app before, and then has one")
    func fileOfAHeldBackOne() throws {
        var slot = try Fixture.tryingSlot()
        let waits = try Fixture.receiveWaived(by: &slot)
        let staged = try #require(slot.staged)
        #expect(waits.changes.contains(.counted(staged)) && !waits.stages && slot.content(of: .staged) == nil)
        for _ in 1..<ConfigurationLimits.attempts {
            slot.applicationDisconnected()
            _ = slot.applicationConnected()
        }
        let failed = slot.applicationDisconnected()
        #expect(slot.active?.record.version == 6 && failed.verdict == .failed)
        #expect(failed.stages && slot.content(of: .staged) == staged.dictionary)
        #expect(slot.applicationConnected().effects.count == 1)
    }
}
