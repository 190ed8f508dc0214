// What a host app sees through this library without importing a second module: identifiers, property-list values and
// the values of settings.

@_exported public import TandemBase
@_exported public import TandemPropertyList
@_exported public import TandemSettings
