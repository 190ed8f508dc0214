// One import for a ported app: with it come the session underneath and the error codes, which are the same type.

@_exported public import PairedSession
