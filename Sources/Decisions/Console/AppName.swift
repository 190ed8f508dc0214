// Name of an app at its place, for the headings and titles of its pages. An app has one identifier on both devices, so
// that a page without its place would not say which of the two it edits. A peer chooses its own name, which may look
// like any other: the place has no part of it.

import TandemBase

struct AppName {
    let app: ApplicationIdentifier
    /// The title of its first page, as a bundle states it (PAG-10); nil without one.
    let title: String?
    /// The name of its device; nil if the daemon has not told it.
    let device: String?
    /// The pairing with its device; nil for an app of this device.
    let secondary: UniqueIdentifier?

    /// The name in links and in the headings of further pages.
    var short: String { title ?? app.description }

    /// The app's place, in the console's own words.
    private var place: String { secondary.map { "Pairing \($0)" } ?? "This device" }

    /// The title of a page's document. The place comes first: a name before it could end like one, or turn the order
    /// of what follows.
    /// - Parameter page: the title of the page; nil for the first one.
    func documentTitle(of page: String?) -> String { "\(place): \(heading(page))" }

    /// The heading of a page, and the place in an element of its own.
    /// - Parameter page: the title of the page; nil for the first one.
    func top(of page: String?) -> Markup {
        Markup([.tag("h1", foreign: heading(page)), .tag("p", .init("id", "place"), text: place)])
    }

    private func heading(_ page: String?) -> String {
        let place = device.map { " on \($0)" } ?? ""
        if let page { return "\(short)\(place): \(page)" }
        return (title.map { "\($0) (\(app))" } ?? app.description) + place
    }
}
