// What a host app sees of the rooms below: their public symbols only (values, identifiers, errors, states). A client
// imports PairedSession and needs nothing else, also with MemberImportVisibility on.

@_exported public import TandemBase
@_exported public import TandemPropertyList
@_exported public import TandemSession
@_exported public import TandemWire
