// Finding the properties of a configuration class and their names, once, in its initialiser: inherited ones first. A
// stored property that no wrapper declares is a mistake told by name; there is nothing to guess.

import TandemSettings

struct PropertyDiscovery {
    private(set) var declarations: [SettingDeclaration] = []
    private(set) var properties: [any AnyProperty] = []
    private(set) var problems: [DeclarationProblem] = []

    init(_ configuration: Configuration) {
        var levels: [Mirror] = []
        var level: Mirror? = Mirror(reflecting: configuration)
        while let mirror = level, mirror.subjectType != Configuration.self {
            levels.append(mirror)
            level = mirror.superclassMirror
        }
        for mirror in levels.reversed() {
            for child in mirror.children { add(child) }
        }
    }

    private mutating func add(_ child: Mirror.Child) {
        let label = child.label ?? ""
        guard let wrapper = child.value as? any SettingWrapper, label.hasPrefix("_") else {
            problems.append(.notASetting(label: label))
            return
        }
        let property = wrapper.anyProperty
        declarations.append(property.name(String(label.dropFirst())))
        properties.append(property)
    }
}
