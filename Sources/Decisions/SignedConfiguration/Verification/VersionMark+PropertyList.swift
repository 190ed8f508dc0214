// A version mark as the daemon's row holds it.

package import TandemPropertyList

extension VersionMark {
    package var dictionary: PropertyListDictionary {
        var fields: PropertyListDictionary = [
            "v": 1, "version": PropertyListValue(version), "floor": PropertyListValue(floor),
            "active": .boolean(isActive), "closed": .boolean(isClosed),
        ]
        fields["digest"] = digest.map { .data($0) }
        return fields
    }

    package init(_ dictionary: PropertyListDictionary) throws(ConfigurationRecordError) {
        do {
            var fields = FieldReader(dictionary)
            _ = try fields.required("v", "1") { $0.integerValue == 1 ? 1 : nil }
            self.init(
                version: try fields.required("version", "an integer") { $0.unsignedValue },
                digest: try fields.optional("digest", "32 bytes of data") { $0.digestValue },
                floor: try fields.required("floor", "an integer") { $0.unsignedValue },
                isActive: try fields.required("active", "a boolean") { $0.booleanValue },
                isClosed: try fields.required("closed", "a boolean") { $0.booleanValue })
            try fields.refuseUnknownFields()
        } catch {
            throw .damaged(error)
        }
    }
}
