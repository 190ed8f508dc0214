// Every limit of signed configuration, each with its reason. Checked at limit - 1, limit and limit + 1.

package enum ConfigurationLimits {
    /// Bytes of an envelope (LIM-2): settings, not data.
    package static let envelope = 65_536
    /// Signatures of an envelope: far above any threshold in use; those of unknown keys cost nothing.
    package static let signatures = 64
    /// Entries of `only`, `crit` and `optional`; keys, roles and minimum versions of a key set; accounts of loads.
    package static let list = 64
    /// Seconds that `iat` and `nbf` may lie ahead: clocks of signers and devices differ by minutes, not hours.
    package static let clockSkew: UInt64 = 300
    /// Seconds from `iat` to `expires`, 400 days: longer is written by leaving `expires` out, and milliseconds given
    /// for seconds do not pass as "never".
    package static let longestExpiry: UInt64 = 34_560_000
    /// Seconds from `iat` to a key set's `expires`, 20 years: as above, against milliseconds.
    package static let longestKeySetExpiry: UInt64 = 631_152_000
    /// Seconds before a key set's `expires` from which on `health` warns, 14 days, and the share of its life that they
    /// are at most (LIM-147): the holders of several root keys have to meet, and a set that is replaced each week must
    /// not be a problem all the time.
    package static let expiryNotice: UInt64 = 1_209_600
    package static let expiryNoticeShare: UInt64 = 3
    /// Entries of a key set's `revoked` (CFG-80): half of its bytes, and more than any chain revokes in years.
    package static let revokedKeys = 256
    /// Bytes of the envelope of a key set or a revocation (CFG-83, LIM-2): a chain is kept and read at each start.
    package static let keyStatement = 16_384
    /// Key sets that follow one anchor, and the bytes of their payloads (CFG-83, LIM-91): a rotation a week for twenty
    /// years.
    package static let rotations = 1_024
    package static let rotationBytes = 1 << 20
    /// Revocations that follow one anchor, and the bytes of their payloads (CFG-83, LIM-91). Counted for themselves: a
    /// stolen revocation key must not keep the next key set out.
    package static let revocations = 256
    package static let revocationBytes = 256 << 10
    /// Key sets and revocations that follow one anchor.
    package static let chainSteps = rotations + revocations
    /// Steps of a chain that are on their way to one secondary (LIM-111): each report writes their row.
    package static let stepsUnderWay = 64
    /// Time within which the steps of a burst go to the app's directory together (LIM-112): each is stored before it is
    /// answered, and the file is a copy.
    package static let chainFile = Duration.milliseconds(100)
    /// Desired envelopes of a primary, and their bytes (LIM-85): each secondary may have one of its own by `only`.
    package static let desired = 4096
    package static let desiredBytes = 64 << 20
    /// Lines of a history (LIM-85).
    package static let history = 16
    /// Deliveries of one secondary and slot that wait for a verdict, and early failures of one pairing and app that
    /// wait for their reports (LIM-85): the oldest is forgotten first.
    package static let openDeliveries = 8
    /// Time that an app must live with a configuration before it counts as good (LIM-87): a value that kills an app
    /// does so when the app starts with it or first uses it; a staged rollout waits this long at each step.
    package static let trial = Duration.seconds(30)
    /// Attempts at a configuration without a verdict, or that end within its trial (LIM-88): one may be the fault of
    /// something else, three in a row are not.
    package static let attempts: UInt64 = 3
    /// Deliveries of one configuration that are answered together, one of each pairing and envelope (LIM-136): a device
    /// has a few primaries and gateways, and each row holds them all.
    package static let deliveries = 16
    /// Announcements of a secondary's app that are followed with deliveries at once, and the time for which they count
    /// (LIM-134).
    package static let announcements = 8
    package static let announcementsTime = Duration.seconds(10)
    /// Time after which what ended undelivered on a link is delivered again on it, and between two looks at what
    /// carriers have lost (LIM-90).
    package static let repetition = Duration.seconds(60)
    /// Time after which what a secondary has rejected and may take now is delivered again on the same link (LIM-137):
    /// it tells nobody that it has accepted an identifier or set its clock.
    package static let reconsideration = Duration.seconds(3_600)
    /// Time between two reports about the loading of what is applied (LIM-141): two builds of an app that start in turn
    /// must not fill the queue.
    package static let loadReports = Duration.seconds(3_600)
    /// Offers in a row that an app could not judge, or offers and reloads that it had no room for, which are made again
    /// at the next tick, and the time between the later ones, and between reloads that it cannot judge (LIM-142): a
    /// file that stays unreadable must not cost an offer and a rewrite every 10 s for ever.
    package static let unjudgedOffers = 6
    package static let unjudgedPause = Duration.seconds(600)
    /// Lifetimes are counted, and what waits for the clock or for an app is tried again (CFG-43), this often.
    package static let tick = Duration.seconds(10)
    /// Secondaries of one statement of a carrier (LIM-94): with the longest names and targets they fit an envelope.
    package static let carriedSecondaries = 128
    /// Secondaries whose changes share one commit.
    package static let secondariesInCommit = 128
    /// Carriers between a primary and a far secondary (LIM-94): longer chains are rings, or somebody's mistake.
    package static let chainLength = 4
    /// Statements in one statement, itself included (LIM-94): each costs the verification of a signature.
    package static let carriedStatements = 64
    /// Apps of one secondary that a carrier states until it restarts or the pairing ends (LIM-94): all devices below
    /// share the queues to a primary.
    package static let carriedApplications = 32
    /// Pairings that one carrier has ever named, and likewise those below it together (LIM-94): each keeps its report
    /// key here for as long as the carrier is paired.
    package static let certifiedDevices = 1024
    /// Revoked keys that an answer names for each app and role (LIM-138): a chain may revoke tens of thousands.
    package static let revokedShown = 64
    /// Rows of one answer, and traces of far secondaries of unpaired carriers (LIM-85).
    package static let rows = 256
    /// Time between statements of a carrier to one primary, and between looks of a primary at what those that a carrier
    /// names lack (LIM-95): a device below that changes its mind at each moment costs nobody above it more than that.
    package static let statementPause = Duration.seconds(2)
    /// Time for which a statement that leads back to this device, or too far, is left out of a carrier's own (LIM-96):
    /// in a ring, each of these can be the reason for the next one.
    package static let leftOut = Duration.seconds(3_600)
    /// Bytes of a report's text.
    package static let reportText = 256
    /// Bytes of an envelope that one QR code takes.
    package static let qrEnvelope = 2_200
}
