// The open-URL hook: which URLs are the app's own, and that a link changes nothing by itself.

import PairedConfiguration
import Synchronization
import TandemSignedConfiguration
import Testing

@Suite struct OpenLinkTests {
    /// The bytes that the hook hands to the daemon; nil if the URL is not the app's own.
    private func opened(_ url: String, by app: Configuration) -> [[UInt8]]? {
        var submitted: [[UInt8]] = []
        return app.handleOpen(url: url) { submitted.append($0) } ? submitted : nil
    }

    @Test("CFG-60: a link for this app is its own, and its exact bytes go to the daemon")
    func own() throws {
        let fixture = try Fixture()
        let app = fixture.app()
        let envelope = try fixture.envelope()
        #expect(opened(ApplyLink.text(of: envelope), by: app) == [envelope])
        #expect(app.volume == 75 && app.applied == nil, "a link has no authority of its own")
        #expect(fixture.verdict(app, try fixture.message(envelope)) == "applied")
    }

    @Test(
        "CFG-60: any other URL is left to the app",
        arguments: [
            "https://example.org/", "tandem:join/1?at=x", "Tandem:apply/1?e=AA", "myapp:apply/1?e=AA", "",
            "tandem:apply",
        ])
    func foreign(url: String) throws {
        #expect(opened(url, by: try Fixture().app()) == nil)
    }

    @Test("CFG-60: a link for another app or the other side is left to the app, and so is one before the app is loaded")
    func otherApp() throws {
        let fixture = try Fixture()
        let role = try fixture.envelope { $0.role = .primary }
        #expect(opened(ApplyLink.text(of: role), by: fixture.app()) == nil)
        let other = try ApplicationIdentifier("org.example.other")
        let app = AppConfiguration()
        app.load(application: other, role: .secondary, directory: nil, time: TestTime().time)
        let link = ApplyLink.text(of: try fixture.envelope())
        #expect(opened(link, by: app) == nil)
        #expect(opened(link, by: AppConfiguration()) == nil)
    }

    @Test(
        "CFG-60: a damaged link is the app's own, reported, and goes no further",
        arguments: ["tandem:apply/1?e=%%", "tandem:apply/1?e=AAAA", "tandem:apply/2?e=AA", "tandem:apply/1?x=AA"])
    func damaged(url: String) throws {
        let app = try Fixture().app()
        let seen = Mutex<[String]>([])
        let observation = app.observeEvents { event in
            if case .rejected(let rejection) = event { seen.withLock { $0.append(rejection.name) } }
        }
        #expect(opened(url, by: app) == [])
        #expect(seen.withLock { $0 } == ["malformed"])
        observation.cancel()
    }
}
