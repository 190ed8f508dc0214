// A newer schema of an app while it is stored: first its file, and then the digest in the daemon's store.

import TandemBase
import TandemCrypto
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
}
