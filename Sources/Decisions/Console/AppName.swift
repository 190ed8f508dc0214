// Name of an app at its place, for the headings and titles of its pages. An app has one identifier on both devices, so
// that a page without the device's name would not say which of the two it edits.

import TandemBase

/// An app of one device.
struct AppName {
    let app: ApplicationIdentifier
    /// The title of its first page, as a bundle states it (PAG-10); nil without one.
    let title: String?
    /// The name of its device, and more if another device has the same one; nil if the daemon has not told it.
    let device: String?

    /// The name in links and in the headings of further pages.
    var short: String { title ?? app.description }

    /// The heading of a page.
    /// - Parameter page: the title of the page; nil for the first one.
    func heading(_ page: String?) -> String {
        let place = device.map { " on \($0)" } ?? ""
        if let page { return "\(short)\(place): \(page)" }
        return (title.map { "\($0) (\(app))" } ?? app.description) + place
    }
}
