// Keys and defaults of a Settings.bundle: the pages that a settings application shows for an app. The walk begins with
// Root and visits each child page once, however the pages lead to each other. A page that cannot be read is reported
// and leaves out nothing but itself.

package import TandemPropertyList

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
    /// A key with two defaults; the first one counts.
    case differentDefaults(key: String)
    /// A key that no property has.
    case noProperty(key: String)
    /// A default that its property does not take; the declared one counts.
    case invalidDefault(SettingError)
    /// `reset()` has put another default in the place of the page's.
    case replacedDefault(key: String)
}

extension SettingsBundleProblem: CustomStringConvertible {
    /// A line for a log.
    public var description: String {
        switch self {
        case .missingPage(let page): "the settings page '\(page)' does not exist"
        case .unreadablePage(let page, let reason): "the settings page '\(page)' cannot be read: \(reason)"
        case .malformedPage(let page): "the settings page '\(page)' has no array of specifiers"
        case .tooManyPages(let limit): "there are more than \(limit) settings pages"
        case .differentDefaults(let key): "the key '\(key)' of the settings pages has two defaults"
        case .noProperty(let key): "no property has the key '\(key)' of the settings pages"
        case .invalidDefault(let error): "the default of the settings pages is not taken: \(error)"
        case .replacedDefault(let key): "reset() replaces the default of the settings pages for '\(key)'"
        }
    }
}

/// The keys of a Settings.bundle.
package struct SettingsBundle: Sendable {
    /// The first page.
    package static var root: String { "Root" }
    /// The most pages that are read (LIM-99).
    package static var pageLimit: Int { 64 }

    /// All keys, each once, in the order of the pages.
    package private(set) var keys: [String] = []
    /// Their bytes: two keys may be equal as texts only.
    private var known: Set<[UInt8]> = []
    /// The defaults of the keys that have one.
    package private(set) var defaults: [String: PropertyListValue] = [:]
    package private(set) var problems: [SettingsBundleProblem] = []

    /// No pages.
    package init() {}

    /// Visits all pages.
    /// - Parameter page: the content of a page by its name, which has no `.plist`; nil if there is none.
    package init(_ page: (String) throws(SettingsBundleProblem) -> PropertyListDictionary?) {
        var known: Set<String> = [Self.root]
        // The next page is the last: a child is visited before its parent's next one.
        var waiting = [Self.root]
        var count = 0
        while let name = waiting.popLast() {
            count += 1
            guard count <= Self.pageLimit else {
                problems.append(.tooManyPages(limit: Self.pageLimit))
                return
            }
            do throws(SettingsBundleProblem) {
                guard let content = try page(name) else { throw .missingPage(name) }
                let children = try read(content, of: name).filter { known.insert($0).inserted }
                waiting += children.reversed()
            } catch {
                problems.append(error)
            }
        }
    }

    /// - Returns: the child pages in their order.
    private mutating func read(
        _ page: PropertyListDictionary, of name: String
    ) throws(SettingsBundleProblem) -> [String] {
        guard let list = page["PreferenceSpecifiers"]?.arrayValue else { throw .malformedPage(name) }
        let specifiers = list.compactMap(\.dictionaryValue)
        guard specifiers.count == list.count else { throw .malformedPage(name) }
        for specifier in specifiers {
            if let key = specifier["Key"]?.stringValue { add(key, specifier["DefaultValue"]) }
        }
        return specifiers.compactMap { specifier in
            specifier["Type"]?.stringValue == "PSChildPaneSpecifier" ? specifier["File"]?.stringValue : nil
        }
    }

    private mutating func add(_ key: String, _ value: PropertyListValue?) {
        if known.insert(Array(key.utf8)).inserted { keys.append(key) }
        guard let value else { return }
        if let known = defaults[key] {
            if known != value { problems.append(.differentDefaults(key: key)) }
        } else {
            defaults[key] = value
        }
    }

    /// The names of the properties that the pages show, in the order of the pages.
    package func names(in schema: SettingsSchema) -> [String] { keys.filter { schema.place(of: $0) != nil } }

    /// Reports the defaults of the pages that the app has replaced.
    package mutating func compare(_ defaults: [SettingValue?], with pages: [SettingValue], of schema: SettingsSchema) {
        for key in names(in: schema) where self.defaults[key] != nil {
            guard let place = schema.place(of: key), defaults[place] != pages[place] else { continue }
            problems.append(.replacedDefault(key: key))
        }
    }

    /// The defaults of all properties: the pages' where they have a valid one, else the declared ones.
    package mutating func defaults(of schema: SettingsSchema) -> [SettingValue] {
        for key in keys where schema.place(of: key) == nil { problems.append(.noProperty(key: key)) }
        return schema.declarations.indices.map { place in
            let declaration = schema.declarations[place]
            guard let value = defaults[declaration.name] else { return declaration.initialValue }
            switch schema.judge(stored: value, at: place) {
            case .success(let value): return value
            case .failure(let error):
                problems.append(.invalidDefault(error))
                return declaration.initialValue
            }
        }
    }
}
