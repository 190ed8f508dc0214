// The stable names that a connection gets before it closes (SES-21). A program decides by the name; the text that goes
// with it is for people.

/// Why a connection was refused; its raw value is the word on the wire.
package enum RefusalName: String, Sendable, Hashable, CaseIterable {
    case malformed
    case envelope
    case unknownKey = "unknown-key"
    case unknownKind = "unknown-kind"
    case unknownSealing = "unknown-sealing"
    case tooLarge = "too-large"
    case tooSlow = "too-slow"
    case helloExpected = "hello-expected"
    case version
    case versionLowered = "version-lowered"
    case notPaired = "not-paired"
    case notYours = "not-yours"
    case application
    case appOwned = "app-owned"
    case alreadyReceiving = "already-receiving"
    case tooManyApplications = "too-many-applications"
    case tooManyConnections = "too-many-connections"
    case notAllowed = "not-allowed"
    case slowConsumer = "slow-consumer"
    case joinRefused = "join-refused"
    case epoch
    case stopping
    case unexpected
}
