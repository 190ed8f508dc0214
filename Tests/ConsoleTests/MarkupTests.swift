// Text from outside in pages: whatever it is, it stays text.

import TandemBase
import TandemConsole
import TandemPages
import TandemPropertyList
import TandemTestSupport
import Testing

@Suite struct MarkupTests {
    @Test(
        "CON-9, LIM-92: every character that means something to a reader of HTML is escaped, in texts and in attributes"
    )
    func escaping() {
        let text = "<a href='x' on=\"y\">&`\u{0}\u{1B}\r\n\u{9F}é"
        let expected = "&lt;a href=&#39;x&#39; on=&quot;y&quot;&gt;&amp;&#96;\u{FFFD}\u{FFFD}&#13;\n\u{FFFD}é"
        #expect(Markup(text).html == expected)
        #expect(Markup.tag("p", .init("title", text), text: text).html == "<p title=\"\(expected)\">\(expected)</p>")
        #expect(Markup.single("input", .flag("disabled", if: false), .flag("checked")).html == "<input checked>")
        #expect(Markup.tag("textarea", text: "\na").html == "<textarea>\n\na</textarea>")
        // One character alone is as one among others.
        for scalar in (0...0x2FF).compactMap({ UnicodeScalar($0) }) {
            let (alone, within) = (String(scalar), "<\(scalar)")
            #expect("&lt;" + Markup(alone).html == Markup(within).html, "\(scalar.value)")
            // The budget of a page counts no less (LIM-92).
            #expect(Markup(alone).html.utf8.count <= PageText.bytes(alone), "\(scalar.value)")
        }
    }

    @Test("CON-18: an address without a host is no link, because a browser would take it for one of the console")
    func addresses() {
        for url in ["http://a", "HTTPS://a.example/b?c#d", "http://[::1]:8/", "mailto:a@b.example"] {
            #expect(Markup.Attribute.address(url) != nil, "\(url)")
        }
        for url in [
            "http:/apps", "http:apps", "http:", "https:/x", "http://", "http:///apps", "http:/\\a", "http://?a", "http",
            "//a", "/apps", "apps", "javascript:1", "",
        ] { #expect(Markup.Attribute.address(url) == nil, "\(url)") }
    }

    @Test("CON-9: no page has markup that came in as text")
    func pages() throws {
        let browser = Browser()
        browser.enter()
        browser.links = [["token": .data(Browser.token), "pairing": .data([1]), "name": .string(Browser.markup)]]
        for path in ["/", "/apps", "/pair", Browser.page, Browser.page + "/pages/More", "/secondaries/x"] {
            let page = try #require(browser.get(path)).text
            #expect(!page.contains("<script>"), "\(path)")
            #expect(!page.contains("<img"), "\(path)")
            #expect(!page.contains("</textarea><script"), "\(path)")
        }
        let refused = try #require(
            browser.post(Browser.page, "v.hosts=%3C%2Ftextarea%3E%3Cscript%3E&v.volume=%3Cimg%3E"))
        #expect(refused.status == 422)
        #expect(!refused.text.contains("<script>") && !refused.text.contains("<img"))
    }
}

@Suite struct RouteTests {
    @Test("CON-8: every route is read back from its path, and nothing else is a route")
    func routes() throws {
        let browser = Browser()
        browser.enter()
        for path in [
            "/", "/enter", "/leave", "/apps", "/pair", "/events", "/console.css", Browser.page,
            "\(Browser.page)/events",
            "\(Browser.page)/pages/a%20b%2F..%2F%3Cx%3E",
            "/secondaries/0123ABCD-0000-4000-8000-0123456789AB\(Browser.page)",
        ] { #expect(ConsoleRoute(path: path)?.path == path, "\(path)") }
        for path in [
            "", "//", "/apps/", "/apps/../etc/passwd", "/apps/%2e%2e", "/console.css/", "/..", "/%2e%2e/console.css",
            "/apps/a%00b", "/apps/a%zz", "/apps/a%2", "/apps/a%ff", "apps", "http://x/apps", "/secondaries/x/apps/a",
            "/apps/org.example.lamp/pages/", "/apps/org.example.lamp/pages/a/b", "/etc/passwd", "/Console.css",
        ] {
            #expect(ConsoleRoute(path: path) == nil, "\(path)")
            #expect(browser.get(path)?.status == 404, "\(path)")
        }
    }

    @Test("CON-8: random segments come back as they were, and no path has a step upwards")
    func randomSegments() throws {
        var random = SeededGenerator(seed: 15)
        for _ in 0..<2000 {
            let scalars = (0..<Int.random(in: 1...6, using: &random)).compactMap { _ in
                UnicodeScalar(UInt32.random(in: 1...0x2FF, using: &random))
            }
            let page = String(String.UnicodeScalarView(scalars))
            let route = try #require(ConsoleRoute(path: Browser.page)).onPage(page)
            #expect(ConsoleRoute(path: route.path) == route, "\(route.path)")
            let segments = route.path.split(separator: "/")
            #expect(!segments.contains(".") && !segments.contains("..") && !route.path.contains("<"))
        }
    }
}

extension ConsoleRoute {
    /// The page of this name of the same app.
    fileprivate func onPage(_ page: String) -> ConsoleRoute {
        if case .settings(let instance, _) = self { .settings(instance, page: page) } else { self }
    }
}
