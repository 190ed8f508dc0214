// The list of trusted keys as an operator reads it.

import TandemOperations
import TandemPropertyList
import Testing

@testable import tandem

@Suite struct TrustReportTests {
    private func anchor(_ more: PropertyListDictionary) -> Fact {
        let body: PropertyListDictionary = [
            "app": "org.example.lamp", "role": "secondary", "source": "operator", "kind": "key-set", "version": 2,
        ]
        return Fact(body.merging(more))
    }

    @Test("CTL-27: the revoked keys are named, and those that the answer leaves out are counted")
    func revokedKeys() {
        let key = [UInt8](repeating: 0xAB, count: 32)
        let one = TrustReport.lines(of: [anchor(["revoked": 1, "revokedKeys": [.data(key)]])])
        #expect(one.contains("revoked keys") && one.last?.hasSuffix(String(repeating: "ab", count: 32)) == true)
        let more = TrustReport.lines(of: [anchor(["revoked": 3, "revokedKeys": [.data(key)]])])
        #expect(more.last == "  2 more of org.example.lamp (secondary) are not shown")
    }

    @Test("CTL-27: a key set that expires shows when, and that it has expired")
    func expiry() {
        let lines = TrustReport.lines(of: [anchor(["expires": 1_790_000_000_000, "expired": true])])
        #expect(lines.contains { $0.contains("2026-") && $0.contains(", expired") })
    }

    @Test("CTL-27, CFG-17: an app that has registered with another anchor is named")
    func conflict() {
        let advice = TrustReport.lines(of: [anchor(["conflict": true])]).last
        #expect(advice?.contains("org.example.lamp has registered with another anchor") == true)
    }

    @Test("CTL-27: without revoked keys, or from an earlier daemon, there is one table")
    func noRevokedKeys() {
        for facts in [["revoked": 0], ["revoked": 2]] as [PropertyListDictionary] {
            #expect(!TrustReport.lines(of: [anchor(facts)]).contains("revoked keys"))
        }
        #expect(TrustReport.lines(of: []) == ["no trusted keys"])
    }
}
