// Bodies that are dictionaries: the step from the bytes of an envelope's body to values and back, with the wire's
// errors. Only who is the end of a frame's way calls this (FRM-8).

package import TandemPropertyList

/// Reading and writing of structured bodies.
package enum Body {
    /// The dictionary of a body.
    /// - Throws: ``WireError/malformed(_:)``, also for a root that is not a dictionary.
    package static func dictionary(_ bytes: ArraySlice<UInt8>) throws(WireError) -> PropertyListDictionary {
        do { return try PropertyListReader.readDictionary(bytes) } catch { throw .malformed(error) }
    }

    /// The bytes of a dictionary.
    /// - Throws: ``WireError/malformed(_:)`` with the key path of what cannot be written.
    package static func bytes(_ dictionary: PropertyListDictionary) throws(WireError) -> [UInt8] {
        do { return try PropertyListWriter.write(dictionary) } catch { throw .malformed(error) }
    }
}

extension Envelope {
    /// The body as a dictionary; an absent body is an empty one.
    package func dictionaryBody() throws(WireError) -> PropertyListDictionary {
        guard let body else { return PropertyListDictionary() }
        return try Body.dictionary(body)
    }

    /// This envelope with a dictionary as its body.
    package func with(body dictionary: PropertyListDictionary) throws(WireError) -> Envelope {
        var envelope = self
        envelope.body = try Body.bytes(dictionary)[...]
        return envelope
    }
}
