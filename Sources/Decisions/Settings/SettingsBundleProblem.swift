// Faults of settings pages, for one report at start: of a bundle's files, of its entries, and between its entries and
// the app's declarations. No text shows the value of a property.

import TandemBase

/// Something in a Settings.bundle that is not as the app declares it, or not as pages are.
public enum SettingsBundleProblem: Error, Sendable, Equatable {
    /// A page that another one names, or `Root`, does not exist.
    case missingPage(String)
    /// A page that cannot be read, for this reason.
    case unreadablePage(String, reason: String)
    /// A page without a list of specifiers (`PreferenceSpecifiers`, an array of dictionaries).
    case malformedPage(String)
    /// The pages after these are not read.
    case tooManyPages(limit: Int)
    /// The entries after these are not read.
    case tooManySpecifiers(page: String, limit: Int)
    /// A child page that leads back to one on the way to it.
    case cycle(page: String, leadsTo: String)
    /// A fault of one entry, or of a whole page.
    case specifier(SettingsPageLocation, SpecifierFault)
    /// A table of translations that cannot be read, for this reason.
    case unreadableStrings(String, reason: String)
    /// The languages after these are not read.
    case tooManyLanguages(limit: Int)
    /// An image that an entry names and that is not shown, for this reason.
    case unreadableImage(String, reason: String)
    /// The pages do not fit into the schema, and this part of them is left out.
    case notCarried(String)
    /// A key with another default than at its first entry, which counts.
    case differentDefaults(key: String, SettingsPageLocation)
    /// A key that no property has.
    case noProperty(key: String, SettingsPageLocation)
    /// A default that its property does not take; the declared one counts.
    case invalidDefault(SettingError, SettingsPageLocation)
    /// `reset()` has put another default in the place of the page's.
    case replacedDefault(key: String, SettingsPageLocation)
    /// An entry whose type or bounds are not its property's; the property's count.
    case differentRule(key: String, SettingsPageLocation)
}

/// The place of an entry in the settings pages, or of a whole page.
public struct SettingsPageLocation: Sendable, Equatable {
    /// The name of the page.
    public let page: String
    /// The entry of the page, counted from 0; nil for the whole page.
    public let index: Int?

    /// An entry of a page, counted from 0; nil for the whole page.
    public init(page: String, index: Int?) { (self.page, self.index) = (page, index) }
}

extension SettingsPageLocation: CustomStringConvertible {
    /// The place in words, counted from 1.
    public var description: String { "the settings page '\(page)'" + (index.map { ", entry \($0 + 1)" } ?? "") }
}

/// A fault of an entry of a settings page.
public enum SpecifierFault: Sendable, Equatable {
    /// No type that settings pages have.
    case unknownType(String)
    /// A key without a meaning; it is kept.
    case unknownKey(String)
    /// A key whose value has another form, which counts as none.
    case malformedKey(String)
    /// A key that the type needs.
    case missingKey(String)
    /// Lists that are not equally long, as titles and values are.
    case unequalLists(String)
    /// A value that stands twice, so that one of its two meanings is never seen.
    case repeatedValue(String)
    /// A slider whose minimum is above its maximum, so that it has no bounds.
    case reversedBounds
    /// A key that asks for what Linux does not have.
    case unsupported(String)
}

extension SettingsBundleProblem: CustomStringConvertible {
    /// A line for a log.
    public var description: String {
        switch self {
        case .missingPage(let page): "the settings page '\(page)' does not exist"
        case .unreadablePage(let page, let reason): "the settings page '\(page)' cannot be read: \(reason)"
        case .malformedPage(let page): "the settings page '\(page)' has no array of specifiers"
        case .tooManyPages(let limit): "there are more than \(limit) settings pages"
        case .tooManySpecifiers(let page, let limit):
            "the settings page '\(page)' has entries beyond the \(limit) of an app"
        case .cycle(let page, let target): "the settings page '\(page)' leads back to '\(target)'"
        case .specifier(let place, let fault): "\(place): \(fault)"
        case .unreadableStrings(let file, let reason): "the translations '\(file)' cannot be read: \(reason)"
        case .tooManyLanguages(let limit): "the settings pages have more than \(limit) languages"
        case .unreadableImage(let name, let reason): "the image '\(name)' of the settings pages is left out: \(reason)"
        case .notCarried(let part): "the settings pages are too large for the schema, which has no \(part)"
        case .differentDefaults(let key, let entry): "\(entry): the key '\(key)' has another default before"
        case .noProperty(let key, let entry): "\(entry): no property has the key '\(key)'"
        case .invalidDefault(let error, let entry): "\(entry): the default is not taken: \(error)"
        case .replacedDefault(let key, let entry): "\(entry): reset() replaces the default for '\(key)'"
        case .differentRule(let key, let entry): "\(entry): another type or other bounds than those of '\(key)'"
        }
    }
}

extension SpecifierFault: CustomStringConvertible {
    /// Words for a log.
    public var description: String {
        switch self {
        case .unknownType(let type): "\(OutsideText.quoted(type)) is no type of entries"
        case .unknownKey(let key): "\(OutsideText.quoted(key)) has no meaning"
        case .malformedKey(let key): "'\(key)' has a value of another form"
        case .missingKey(let key): "'\(key)' is missing"
        case .unequalLists(let key): "'\(key)' has not as many elements as the values"
        case .repeatedValue(let key): "'\(key)' repeats a value"
        case .reversedBounds: "'MinimumValue' (0 without it) is above 'MaximumValue' (1 without it)"
        case .unsupported(let key): "'\(key)' asks for what Linux does not have"
        }
    }
}
