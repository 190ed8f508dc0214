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
    /// - Parameters:
    ///   - page: the title of the page; nil for the first one.
    ///   - languages: those of the titles of pages, by these titles.
    func top(of page: Markup?, _ languages: [String: String]) -> Markup {
        let pieces = words(page == nil).map { Markup.inLanguage($0, languages) }
        let heading = Markup.tag("bdi", of: pieces + (page.map { [Markup(": "), $0] } ?? []))
        return Markup([.tag("h1", of: [heading]), .tag("p", .init("id", "place"), text: place)])
    }

    private func heading(_ page: String?) -> String {
        words(page == nil).joined() + (page.map { ": \($0)" } ?? "")
    }

    /// The app's name and the rest of its place; the first page has the identifier, too.
    private func words(_ isFirst: Bool) -> [String] {
        [short, isFirst && title != nil ? " (\(app))" : "", device.map { " on \($0)" } ?? ""]
    }
}
