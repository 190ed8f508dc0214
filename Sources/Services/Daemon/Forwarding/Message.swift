// What identifies a message wherever it is told to have failed, so that a failure needs no frame and no envelope.

import TandemBase

/// A message by its app, pairing and identifier.
struct Message {
    let app: ApplicationIdentifier
    let pairing: UniqueIdentifier
    let id: UniqueIdentifier
}
