// Size of a row's texts where they are longest, in HTML: a renderer escapes them, and repeats some. A page's budget
// (LIM-92) counts these bytes, so that it holds for what is sent.

package enum PageText {
    /// Bytes of the texts of an answer, as HTML has them (LIM-92).
    package static let limit = 4 << 20

    /// Characters of a name that stands where it only leads to a row or a page, or reports on one (LIM-92).
    private static let nameLength = 48

    /// A name for each place but that of its own row or page: thousands of rows may name one row or one page.
    package static func short(_ name: String) -> String {
        let scalars = name.unicodeScalars
        let isLong = scalars.index(scalars.startIndex, offsetBy: nameLength + 1, limitedBy: scalars.endIndex) != nil
        return isLong ? String(scalars.prefix(nameLength - 1)) + "\u{2026}" : name
    }

    /// At least the bytes of a text in HTML: the replacement of a character has up to six (Console CON-9).
    package static func bytes(_ text: String?) -> Int { text?.utf8.reduce(0) { $0 + sizes[Int($1)] } ?? 0 }

    /// By the byte, because pages of megabytes are counted.
    private static let sizes = (UInt8.min...UInt8.max).map(bytes(of:))

    /// At least the bytes of a text in an address, where most characters have three for each byte, or of a key in a
    /// name.
    fileprivate static func bytesInAddress(_ text: String?) -> Int {
        text?.utf8.reduce(0) { $0 + max(3, sizes[Int($1)]) } ?? 0
    }

    private static func bytes(of byte: UInt8) -> Int {
        switch byte {
        case UInt8(ascii: "\n"), UInt8(ascii: "\t"): 1
        case UInt8(ascii: "\""): 6
        case UInt8(ascii: "&"), UInt8(ascii: "'"), UInt8(ascii: "`"), UInt8(ascii: "\r"): 5
        case UInt8(ascii: "<"), UInt8(ascii: ">"): 4
        // U+FFFD stands for a control character. 0xC2 is the first of two bytes of those from U+0080.
        case 0...0x1F, 0x7F: 3
        case 0xC2: 2
        default: 1
        }
    }
}

extension PageView.Row {
    /// Bytes of its texts in HTML, each as often as a renderer repeats it.
    var textBytes: Int {
        let own: [String?] = [
            title, title, title, subtitle, summary, shown, input, input, shownDefault, hiddenEdit, range, author,
            error, error, notLoaded, notLoaded.map { _ in shown },
        ]
        return own.reduce(kind.textBytes + keyBytes) { $0 + PageText.bytes($1) }
    }

    /// Bytes of the key in the names of fields, in its own button and its section's, and in the row's mark; of a list
    /// in the address and the buttons of each item.
    private var keyBytes: Int {
        let count =
            switch kind {
            case .radio(let choices): choices.options.count
            case .list(let list): 4 * (list.items.count + 1)
            default: 0
            }
        return (count + 6) * PageText.bytesInAddress(key)
    }
}

extension PageView.Kind {
    fileprivate var textBytes: Int {
        switch self {
        case .text(let traits), .secureText(let traits), .multilineText(let traits):
            PageText.bytes(traits.placeholder)
        case .choice(let choices), .radio(let choices):
            choices.options.reduce(PageText.bytes(choices.footer)) {
                $0 + PageText.bytes($1.input) + PageText.bytes($1.title) + PageText.bytes($1.shortTitle)
            }
        // The title of an item is that of its buttons, too, and stands in the question about its deletion.
        case .list(let list):
            list.items.reduce(PageText.bytes(list.addTitle)) { $0 + 6 * PageText.bytes($1.title) }
        case .link(let url): 2 * PageText.bytes(url)
        case .mail(let mail):
            ([mail.subject, mail.body] + mail.to + mail.copy + mail.blindCopy).reduce(0) {
                $0 + PageText.bytesInAddress($1) + PageText.bytes($1)
            }
        case .page(let name): PageText.bytesInAddress(name)
        case .custom(let page): PageText.bytesInAddress(page)
        case .unsupported(let reason): PageText.bytes(reason)
        case .toggle, .slider, .date, .titleValue, .button: 0
        }
    }
}
