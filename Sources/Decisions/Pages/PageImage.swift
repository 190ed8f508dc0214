// Image of a bundle that an entry names, as a layout carries it. Its first bytes say which kind it is; nothing here
// decodes it, and a kind that can hold a script or an address, as SVG, is none.

/// An image beside a row, a choice or a slider.
package struct PageImage: Sendable, Equatable {
    /// The most bytes of one image (LIM-130).
    package static let byteLimit = 16_384
    /// The most bytes of all images of an app (LIM-130).
    package static let totalLimit = 98_304

    /// The most images of an app (LIM-130).
    package static let countLimit = 256

    /// The most bytes of the images of one page, each as often as it stands there (LIM-130).
    package static let pageLimit = 262_144

    /// The kind, by its media type.
    package enum Kind: String, Sendable, CaseIterable {
        case png = "image/png"
        case jpeg = "image/jpeg"
        case gif = "image/gif"
        case webp = "image/webp"
    }

    package let bytes: [UInt8]
    package let kind: Kind

    /// An image; nil for bytes of no known kind, and for too many.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count <= Self.byteLimit, let kind = Kind.allCases.first(where: { $0.begins(bytes) }) else {
            return nil
        }
        (self.bytes, self.kind) = (bytes, kind)
    }

    /// The names of the files that an image may have, the first existing one of which counts.
    package static func files(for name: String) -> [String] {
        [name] + ["@2x.png", ".png", ".jpg", ".gif", ".webp"].map { name + $0 }
    }
}

extension PageImage.Kind {
    fileprivate func begins(_ bytes: [UInt8]) -> Bool {
        switch self {
        case .png: bytes.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A])
        case .jpeg: bytes.starts(with: [0xFF, 0xD8, 0xFF])
        case .gif: bytes.starts(with: Array("GIF8".utf8))
        case .webp: bytes.starts(with: Array("RIFF".utf8)) && bytes.dropFirst(8).starts(with: Array("WEBP".utf8))
        }
    }
}

extension PageTree {
    /// The names of the images that entries name, each once, in the order of the pages.
    package var imageNames: [String] {
        var known: Set<String> = []
        return pages.flatMap(\.specifiers).flatMap(\.imageNames).filter { known.insert($0).inserted }
    }
}

extension [PageView.Group] {
    /// Of some images those that the rows name, as many as a page can have.
    func shown(of images: [String: PageImage]) -> [String: PageImage] {
        guard !images.isEmpty else { return [:] }
        let names = flatMap(\.rows).flatMap(\.imageNames)
        let counts = Dictionary(names.map { ($0, 1) }, uniquingKeysWith: +)
        var (shown, room) = ([String: PageImage](), PageImage.pageLimit)
        for name in names where shown[name] == nil {
            guard let image = images[name], let size = counts[name].map({ $0 * image.bytes.count }), size <= room else {
                continue
            }
            room -= size
            shown[name] = image
        }
        return shown
    }
}

extension PageView.Row {
    /// The images beside its title and in its control.
    fileprivate var imageNames: [String] {
        let inControl: [String?] =
            switch kind {
            case .slider(let slider): [slider.minimumImage, slider.maximumImage]
            case .choice(let choices), .radio(let choices): choices.options.map(\.image)
            default: []
            }
        return ([image] + inControl).compactMap(\.self)
    }
}

extension Specifier {
    /// The images that the entry and those within it name.
    fileprivate var imageNames: [String] {
        let own = [SpecifierKey.image, .minimumImage, .maximumImage].compactMap(image) + texts(.icons).map(\.asName)
        return own.filter { !$0.isEmpty } + itemEntries.flatMap(\.imageNames)
    }
}
