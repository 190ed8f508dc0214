// A newer schema of an app while it is stored: first its file, and then the digest in the daemon's store.

import TandemBase
import TandemCrypto
import TandemDaemonTestSupport
import TandemPropertyList
import TandemReactor
import TandemSettings
import Testing

@testable import TandemDaemon

@Suite struct SchemaArrivalTests {
    private func document(_ name: String) throws -> SchemaDocument {
        try SchemaDocument(writing: [
            SettingDeclaration(name: name, type: .integer, editor: .edit, summary: "", initialValue: .integer(7))
        ])
    }

    @Test("SCH-17: a request while a newer schema is stored finds that one, and not a changed file")
    func arriving() throws {
        let newer = try document("volume")
        let end = try OneEnd(as: .secondary, with: try document("speed"))
        var (found, refusal): ([UInt8]?, String?) = (nil, "none")
        end.describe = { [settings = end.settings, app = end.app] in
            found = try? await settings.state(of: app, for: .user(Linux.user)).document.bytes
        }
        end.scheduler.start { [settings = end.settings, app = end.app] in
            refusal = await settings.take(newer.bytes, named: SHA256.digest(newer.bytes), of: app, from: Linux.user)
        }
        end.run()
        #expect(refusal == nil && found == newer.bytes)
    }

    @Test("SCH-17: a request from before a newer schema came, whose turn is after that, finds the newer one")
    func arrivedMeanwhile() throws {
        let (older, newer) = (try document("speed"), try document("volume"))
        let end = try OneEnd(as: .secondary, with: older)
        let read = Expectation<Bool>(on: end.scheduler)
        end.describe = { _ = await read.value(within: .seconds(60)) }
        var found: [[UInt8]?] = []
        // The second one of this payer waits until the first one has ended.
        for _ in 0..<2 {
            end.scheduler.start { [settings = end.settings, app = end.app] in
                found.append(try? await settings.state(of: app, for: .user(Linux.user)).document.bytes)
                if found.count == 2 { read.fulfil(true) }
            }
        }
        var refusal: String? = "none"
        end.scheduler.start { [settings = end.settings, app = end.app] in
            refusal = await settings.take(
                newer.bytes, named: SHA256.digest(newer.bytes), of: app, from: Linux.user + 1)
        }
        for _ in 0..<3 { end.run() }
        #expect(found == [older.bytes, newer.bytes] && refusal == nil)
    }

    @Test("SCH-17, CFG-107: signed values are judged by a newer schema while it is stored, and named by it")
    func signedWhileArriving() throws {
        let newer = try document("volume")
        let end = try OneEnd(as: .secondary, with: try document("speed"))
        var refusals: [[UInt8]?] = []
        end.describe = { [settings = end.settings, app = end.app] in
            for value in ["x", 7] as [PropertyListValue] {
                refusals.append(await settings.refusal(of: ["volume": value], optional: [], for: app)?.schema)
            }
        }
        end.scheduler.start { [settings = end.settings, app = end.app] in
            _ = await settings.take(newer.bytes, named: SHA256.digest(newer.bytes), of: app, from: Linux.user)
        }
        for _ in 0..<2 { end.run() }
        #expect(refusals == [SHA256.digest(newer.bytes), nil])
    }
}
