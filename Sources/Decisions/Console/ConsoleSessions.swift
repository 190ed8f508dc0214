// Browsers that may use the console: a token in the printed address lets one in, once; then a cookie knows it. Tokens
// are random bytes from outside, compared in constant time. Each form of a browser has a token of its own.

package import TandemBase
import TandemCrypto

package struct ConsoleSessions: ~Copyable {
    /// Browsers that are let in at once (LIM-125); the one that was away longest goes first.
    package static let countLimit = 16
    /// Time without a request after which a browser is let out (LIM-125).
    package static let patience = Duration.seconds(43_200)
    /// Cookies of a request that may be a browser's, the last ones, that are compared (LIM-125).
    package static let cookieLimit = 256
    package static let tokenBytes = 16

    private struct Session {
        let secret: [UInt8]
        var lastSeen: MonotonicTime
        /// Forms that make a join link and were sent.
        var linkForms: UInt64 = 0
    }

    private let random: (Int) -> [UInt8]
    private var entry: [UInt8]
    private var sessions: [Session] = []

    /// - Parameter random: makes this many unpredictable bytes.
    package init(random: @escaping (Int) -> [UInt8]) {
        self.random = random
        entry = random(Self.tokenBytes)
    }

    /// The token of the printed address.
    package var entryToken: String { Hexadecimal.encode(entry) }

    /// Lets a browser in by the token, which then is another one; returns its cookie.
    package mutating func enter(_ token: String, now: MonotonicTime) -> String? {
        guard Self.isEqual(token, entry) else { return nil }
        entry = random(Self.tokenBytes)
        dropOld(now)
        if sessions.count == Self.countLimit,
            let oldest = sessions.indices.min(by: { a, b in
                sessions[a].lastSeen < sessions[b].lastSeen
            })
        {
            sessions.remove(at: oldest)
        }
        let secret = random(2 * Self.tokenBytes)
        sessions.append(Session(secret: secret, lastSeen: now))
        return Hexadecimal.encode(secret)
    }

    /// The cookie of a browser that was let in, among those of a request; nil if none is one. Browsers send the
    /// cookies of all ports of a host, those of longer paths first: another's of the same name must not hide ours,
    /// whose path is the shortest, so that the last ones count.
    package mutating func known(among cookies: [String], now: MonotonicTime) -> String? {
        dropOld(now)
        let candidates = cookies.filter { $0.utf8.count == 4 * Self.tokenBytes }.suffix(Self.cookieLimit)
        for cookie in candidates {
            guard let index = sessions.firstIndex(where: { Self.isEqual(cookie, $0.secret) }) else { continue }
            sessions[index].lastSeen = now
            return cookie
        }
        return nil
    }

    /// Whether a cookie of a request may be that of a browser that was let in.
    func hasKnown(among cookies: [String]) -> Bool {
        cookies.suffix(Self.cookieLimit).contains { cookie in sessions.contains { Self.isEqual(cookie, $0.secret) } }
    }

    /// The number of the browser's next form that makes a join link.
    package func linkForm(of cookie: String) -> UInt64 {
        sessions.first { Self.isEqual(cookie, $0.secret) }?.linkForms ?? 0
    }

    /// Takes the browser's next form that makes a join link; false if the number is that of another one.
    package mutating func takeLinkForm(_ number: String?, of cookie: String) -> Bool {
        guard let index = sessions.firstIndex(where: { Self.isEqual(cookie, $0.secret) }),
            number == "\(sessions[index].linkForms)"
        else { return false }
        sessions[index].linkForms += 1
        return true
    }

    /// Lets a browser out.
    package mutating func leave(_ cookie: String) { sessions.removeAll { Self.isEqual(cookie, $0.secret) } }

    private mutating func dropOld(_ now: MonotonicTime) {
        sessions.removeAll { now.since($0.lastSeen) >= Self.patience }
    }

    private static func isEqual(_ text: String, _ bytes: [UInt8]) -> Bool {
        BrowserCode.isEqual(text, Hexadecimal.encode(bytes))
    }
}

/// The token of one form of one browser: a form that another site, or another page, sends has none that fits.
package enum FormToken {
    package static var field: String { "form" }

    /// The token of the form that is sent to a route.
    package static func make(for route: ConsoleRoute, cookie: String) -> String {
        BrowserCode.make("form", for: route, cookie: cookie)
    }

    package static func isValid(_ fields: FormFields, for route: ConsoleRoute, cookie: String) -> Bool {
        BrowserCode.isEqual(fields[Self.field] ?? "", make(for: route, cookie: cookie))
    }
}

/// Code by which this console knows again what it made for one browser and one page: no other site knows the cookie.
enum BrowserCode {
    /// - Parameter words: what the code stands for, beside the page.
    static func make(
        _ purpose: String, for route: ConsoleRoute, cookie: String, _ words: [String] = []
    ) -> String {
        let parts = ["tandem-console \(purpose)", cookie, route.path] + words
        return Hexadecimal.encode(SHA256.digest(Array(parts.joined(separator: "\u{0}").utf8)))
    }

    static func isEqual(_ one: String, _ other: String) -> Bool {
        isEqualInConstantTime(Array(one.utf8), Array(other.utf8))
    }
}
