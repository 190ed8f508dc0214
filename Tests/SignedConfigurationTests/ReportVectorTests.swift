// The language-neutral vectors of reports and links (Protocol/Vectors/signing), made by another program from the text
// of the protocol.

import FoundationEssentials
import TandemBase
import TandemCrypto
import TandemSignedConfiguration
import Testing

private struct ReportFile: Decodable {
    struct Case: Decodable {
        let name: String
        let report: Data
        let outcome: String
        let final: Bool?
    }
    let key: String
    let device: String
    let pairing: String
    let counter: UInt64
    let open: [String]
    let cases: [Case]

    func account() throws -> ReportAccount {
        ReportAccount(
            key: ReportPublicKey(try PublicKey(pem: key)), device: try SigningVectors.identifier(device),
            pairing: try SigningVectors.identifier(pairing), counter: counter,
            open: Set(try open.map(SigningVectors.identifier)))
    }
}

private struct LinkFile: Decodable {
    struct Case: Decodable {
        let name: String
        let text: String
        let envelope: String?
        let refused: Bool?
    }
    let cases: [Case]
}

@Suite struct ReportVectorTests {
    @Test("CFG-50, CFG-51: every report has its outcome, and a refused one changes nothing")
    func everyReportHasItsOutcome() throws {
        let file: ReportFile = try SigningVectors.read("reports.json")
        #expect(Set(file.cases.map(\.outcome)) == Set(ReportFailure.allCases.map(\.rawValue) + ["accepted"]))
        for vector in file.cases {
            var account = try file.account()
            let open = account.open
            do throws(ReportFailure) {
                let report = try account.accept(Array(vector.report))
                #expect(vector.outcome == "accepted", "\(vector.name)")
                #expect(account.counter == report.counter, "\(vector.name)")
                #expect((account.open.count < open.count) == vector.final, "\(vector.name)")
            } catch {
                #expect(vector.outcome == error.rawValue, "\(vector.name)")
                #expect(account.open == open && account.counter == file.counter, "\(vector.name)")
            }
        }
    }

    @Test("CFG-60: every link has its envelope, or is none")
    func everyLinkHasItsEnvelope() throws {
        let file: LinkFile = try SigningVectors.read("links.json")
        #expect(file.cases.count > 20)
        for vector in file.cases {
            let envelope = try? ApplyLink.envelope(in: vector.text)
            #expect(envelope.map { Hexadecimal.encode($0) } == vector.envelope, "\(vector.name)")
            #expect((envelope == nil) == (vector.refused ?? false), "\(vector.name)")
        }
    }
}
