// Labels of an entry's values: titles, short titles and pictures beside them, found by the value in the property's
// type.

import TandemBase
import TandemPropertyList
import TandemSettings

/// Indices of values, of equal ones the first. A list may have thousands, and is looked through for each of them.
struct ValueIndices {
    private let indices: [ExactText: Int]

    init(_ values: [PropertyListValue?]) {
        indices = Dictionary(values.enumerated().map { (Self.name($1), $0) }) { first, _ in first }
    }

    func index(of value: PropertyListValue?) -> Int? { indices[Self.name(value)] }

    /// Equal values of one kind have one text.
    private static func name(_ value: PropertyListValue?) -> ExactText {
        ExactText(value.map { "\($0.kind) \($0)" } ?? "")
    }
}

/// Texts and pictures of an entry's values: lists of one length.
struct ChoiceLabels {
    /// Each once, in the order of the first of equal ones.
    let values: [PropertyListValue?]
    private let indices: ValueIndices
    private let titles: [String]
    private let shortTitles: [String]
    private let images: [String]

    /// - Parameter declaration: the property, in whose stored form the values are, converted as those of files: a page
    ///   may say 1 for the real 1, and "2" for 2. One that the property cannot hold stays, for its place in the lists.
    init(_ specifier: Specifier, _ declaration: SettingDeclaration?) {
        let all = (specifier[.values]?.arrayValue ?? []).map { value -> PropertyListValue? in
            guard let declaration else { return value }
            return declaration.value(loose: value).flatMap { declaration.stored($0) } ?? value
        }
        let indices = ValueIndices(all)
        values = all.enumerated().filter { indices.index(of: $1) == $0 }.map(\.element)
        self.indices = indices
        titles = specifier.texts(.titles)
        shortTitles = specifier.texts(.shortTitles)
        images = specifier.texts(.icons).map(\.asName)
    }

    func index(of value: PropertyListValue?) -> Int? { indices.index(of: value) }
    func title(_ index: Int) -> String? { titles.indices.contains(index) ? titles[index] : nil }
    func shortTitle(_ index: Int) -> String? { shortTitles.indices.contains(index) ? shortTitles[index] : nil }
    func image(_ index: Int) -> String? { images.indices.contains(index) ? images[index] : nil }
}

extension Specifier {
    /// The most values or texts of any of its lists.
    var labelCount: Int {
        [SpecifierKey.values, .titles, .shortTitles, .icons].reduce(0) { max($0, self[$1]?.arrayValue?.count ?? 0) }
    }
}
