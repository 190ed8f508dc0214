// An app on this device as its relay knows it: who takes its messages, where its own go, and what is still to be told
// of it. It decides nothing; each change works out what depends on it at that moment, so that a frame only looks.

import TandemBase
import TandemSession
import TandemWire

/// An app that is installed on a device.
final class LocalApplication {
    let app: ApplicationIdentifier
    /// The app in the ledger; the same for all sides of a relay.
    let number: ApplicationNumber
    private let name: ByteSlice
    unowned let side: Side
    /// The custom identifier that the app declares.
    var identifier: CustomIdentifier?
    /// An anchor for the app is known here.
    var isAnchored = false
    /// What the app declares for its counterparts.
    var features = ApplicationFeatures()
    /// The connection that takes the app's messages.
    var receiver: RelayPort?
    /// All connections of the app; each is told the situation.
    var ports: [RelayPort] = []
    /// The ways to its counterparts, one for each pairing.
    ///
    /// Unchecked, because no method of it calls out.
    @exclusivity(unchecked) var routes = Routes()
    /// What is to be told at the end of the turn, and whether that is noted already.
    var needsState = false
    var needsAnnouncement = false
    /// Links whose devices see this one differently now.
    var routesToAnnounce: [Route] = []
    var isMarked = false
    /// A long `state` has just been told: the next one waits (SES-29).
    var isResting = false

    init(app: ApplicationIdentifier, number: ApplicationNumber, side: Side) {
        self.app = app
        self.number = number
        name = ByteSlice(copying: Array(app.description.utf8))
        self.side = side
    }

    /// Lends the bytes of the app's name.
    func withName<Result>(_ body: (RawSpan) -> Result) -> Result {
        name.withBytes(body)
    }

    /// Whether these are the bytes of the app's name.
    func isNamed(_ bytes: RawSpan) -> Bool { withName { $0.isEqual(to: bytes) } }

    var announcement: ApplicationAnnouncement {
        ApplicationAnnouncement(
            isInstalled: true, isConnected: receiver != nil, identifier: identifier, isAnchored: isAnchored,
            features: features)
    }
}
