// Addresses of the console: each is a value, so that no page writes one by hand and no path from outside reaches a
// file. A path is decoded once, strictly, and what is not known is no route.

package import TandemBase

/// An app of this device, or of one of its secondaries.
package struct AppInstance: Sendable, Hashable {
    package let app: ApplicationIdentifier
    /// The secondary's pairing; nil for the asked daemon's own app.
    package let secondary: UniqueIdentifier?

    fileprivate static let word = "apps"

    fileprivate var segments: [String] {
        (secondary.map { ["secondaries", $0.description] } ?? []) + [Self.word, app.description]
    }
}

package enum ConsoleRoute: Sendable, Hashable {
    case front
    case enter
    case leave
    case apps
    /// The page that makes join links.
    case pair
    /// A page of an app's settings; the first one has no name.
    case settings(AppInstance, page: String?)
    /// The draft of an item of a list; nil for a new item.
    case item(AppInstance, list: String, index: Int?)
    /// The stream of changes of an app's settings; nil for the device's events.
    case events(AppInstance?)
    case style
    case script

    /// Reads the path of a request's target, without its query.
    package init?(path: String) {
        let bytes = path.utf8
        guard bytes.first == UInt8(ascii: "/") else { return nil }
        var segments: [String] = []
        for segment in bytes.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
            // Before it is compared: one that Unicode compares slowly may be as long as a request's head.
            guard let text = PercentText.decode(segment), text.utf8.count <= Self.segmentLimit else { return nil }
            segments.append(text)
        }
        switch segments {
        case [""]: self = .front
        case [AppInstance.word]: self = .apps
        case ["pair"]: self = .pair
        case ["enter"]: self = .enter
        case ["leave"]: self = .leave
        case ["events"]: self = .events(nil)
        case ["console.css"]: self = .style
        case ["console.js"]: self = .script
        default: self.init(inApp: segments)
        }
    }

    private static let new = "new"
    /// Bytes of a segment (LIM-157): the name of an app, a page or a list, which are keys of property lists.
    private static let segmentLimit = 256

    private init?(inApp segments: [String]) {
        var rest = segments[...]
        var secondary: UniqueIdentifier?
        if rest.first == "secondaries" {
            guard let pairing = rest.dropFirst().first.flatMap({ UniqueIdentifier(text: $0) }) else { return nil }
            secondary = pairing
            rest = rest.dropFirst(2)
        }
        guard rest.popFirst() == AppInstance.word, let name = rest.popFirst(),
            let app = try? ApplicationIdentifier(name)
        else {
            return nil
        }
        let instance = AppInstance(app: app, secondary: secondary)
        switch Array(rest) {
        case []: self = .settings(instance, page: nil)
        case ["events"]: self = .events(instance)
        case let words where words.count == 2 && words[0] == "pages" && !words[1].isEmpty:
            self = .settings(instance, page: words[1])
        case let words where words.count == 3 && words[0] == "lists" && !words[1].isEmpty:
            // One spelling of a number, and one address of an item.
            let number = Int(words[2]).flatMap { $0 >= 0 && "\($0)" == words[2] ? $0 : nil }
            guard number != nil || words[2] == Self.new else { return nil }
            self = .item(instance, list: words[1], index: number)
        default: return nil
        }
    }

    /// The methods that the address takes, as `Allow` names them (CON-8).
    var methods: String {
        switch self {
        case .front, .apps, .style, .script: "GET, HEAD"
        case .enter, .pair, .settings, .item: "GET, HEAD, POST"
        case .leave: "POST"
        case .events: "GET"
        }
    }

    /// The path, with everything encoded that means anything in an address.
    package var path: String { "/" + segments.map(PercentText.encode).joined(separator: "/") }

    private var segments: [String] {
        switch self {
        case .front: []
        case .enter: ["enter"]
        case .leave: ["leave"]
        case .apps: [AppInstance.word]
        case .pair: ["pair"]
        case .settings(let instance, nil): instance.segments
        case .settings(let instance, let page?): instance.segments + ["pages", page]
        case .item(let instance, let list, let number):
            instance.segments + ["lists", list, number.map { "\($0)" } ?? Self.new]
        case .events(nil): ["events"]
        case .events(let instance?): instance.segments + ["events"]
        case .style: ["console.css"]
        case .script: ["console.js"]
        }
    }
}

/// Text in addresses and forms.
enum PercentText {
    static func encode(_ text: String) -> String {
        // A segment of dots alone would be a step upwards.
        let dots = text == "." || text == ".."
        return PercentEncoding.encode(text) { !dots && ($0.isASCIIAlphanumeric || "-._~".utf8.contains($0)) }
    }

    /// The text; nil for a broken escape, for bytes that are no UTF-8, and for NUL.
    static func decode(_ bytes: some Collection<UInt8>, plusIsBlank: Bool = false) -> String? {
        let blank = UInt8(ascii: plusIsBlank ? " " : "+")
        let decoded = PercentEncoding.decode(bytes.map { $0 == UInt8(ascii: "+") ? blank : $0 })
        return decoded.flatMap { $0.contains(0) ? nil : String(validating: $0, as: UTF8.self) }
    }
}
