// Which file: items choose their own identifiers, so only the queue and the identifier together name one.

package import TandemWire

/// One file of a queue: its item's key.
package typealias FileKey = ItemKey
