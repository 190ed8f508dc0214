// The reports that one device has sent through its pairing, for tests that take a primary's place.

import TandemBase
import TandemCrypto
import TandemDaemonTestSupport
import TandemSignedConfiguration
import Testing

@testable import TandemDaemon

struct DeviceReports {
    private let device: UniqueIdentifier
    private let pairing: UniqueIdentifier
    private let key: ReportPublicKey
    private var reports: [[UInt8]] = []
    private var counter = ReportCounter(epoch: 1)

    init(of peer: ConfigurationPeer) throws {
        device = try #require(peer.device)
        pairing = peer.pairing
        key = ReportPublicKey(try PublicKey(subjectPublicKeyInfo: peer.reportKey))
    }

    mutating func add(_ report: [UInt8]) { reports.append(report) }

    /// Whether a report names the nonce; nothing is verified.
    func has(_ nonce: UniqueIdentifier?) -> Bool {
        nonce != nil && reports.contains { ConfigurationReport.claimedNonce($0) == nonce }
    }

    /// The first report with this nonce, on these bytes, verified as a primary does (CFG-51).
    mutating func accept(_ nonce: UniqueIdentifier, on bytes: [UInt8]) throws -> ConfigurationReport {
        let report = try #require(reports.first { ConfigurationReport.claimedNonce($0) == nonce })
        let accepted = try ConfigurationReport(verifying: report, by: key, device: device, pairing: pairing)
        try counter.accept(accepted)
        #expect(accepted.facts.digest == SHA256.digest(bytes))
        return accepted
    }
}
