// One run of expat over one text: the only place that calls it. Nothing outside the text is ever opened: expat is given
// no handler for external entities, a DOCTYPE with declarations is refused at its bracket, and a reference to anything
// but the five entities is a fault. The first fault stops the parser.

internal import CTandemExpat
import TandemPropertyList

/// A parser and the tree that it fills; used once, by one thread.
@safe final class ExpatReader {
    private let parser: OpaquePointer
    private var tree: XMLTree
    private var fault: PropertyListXMLError?

    init(_ limits: PropertyListLimits) {
        guard let parser = unsafe XML_ParserCreate(nil) else {
            preconditionFailure("out of memory for a parser")
        }
        unsafe self.parser = unsafe parser
        tree = XMLTree(limits)
    }

    deinit { unsafe XML_ParserFree(parser) }

    /// Reads the whole text.
    func run(_ bytes: [UInt8]) throws(PropertyListXMLError) -> PropertyListValue {
        unsafe XML_SetUserData(parser, Unmanaged.passUnretained(self).toOpaque())
        setElementHandlers()
        setDocumentHandlers()
        // The handlers reach this object by its address, until the call returns.
        let status = withExtendedLifetime(self) {
            unsafe bytes.withUnsafeBytes { buffer in
                unsafe XML_Parse(parser, buffer.bindMemory(to: CChar.self).baseAddress, Int32(buffer.count), 1)
            }
        }
        if let fault { throw fault }
        guard status == XML_STATUS_OK else {
            let words = unsafe XML_ErrorString(XML_GetErrorCode(parser))
            throw PropertyListXMLError(
                .notXML(unsafe words.map { unsafe String(cString: $0) } ?? "fault"), at: location)
        }
        do throws(PropertyListXMLError.Reason) {
            return try tree.finished()
        } catch {
            throw PropertyListXMLError(error, at: location)
        }
    }

    private var location: PropertyListXMLError.Location {
        .position(
            line: Int(clamping: unsafe XML_GetCurrentLineNumber(parser)),
            column: Int(clamping: unsafe XML_GetCurrentColumnNumber(parser)) + 1)
    }

    private func setElementHandlers() {
        unsafe XML_SetElementHandler(
            parser,
            { context, name, attributes in
                unsafe ExpatReader.of(context).take { tree throws(PropertyListXMLError.Reason) in
                    try tree.begin(unsafe text(name), unsafe pairs(attributes))
                }
            },
            { context, _ in
                unsafe ExpatReader.of(context).take { tree throws(PropertyListXMLError.Reason) in try tree.end() }
            })
        unsafe XML_SetCharacterDataHandler(parser) { context, bytes, count in
            let text = unsafe Array(UnsafeRawBufferPointer(start: bytes, count: Int(count)))
            unsafe ExpatReader.of(context).take { tree throws(PropertyListXMLError.Reason) in
                try tree.add(text: text)
            }
        }
    }

    private func setDocumentHandlers() {
        unsafe XML_SetXmlDeclHandler(parser) { context, _, encoding, _ in
            let name = unsafe text(encoding)
            let isRead = ["", "UTF-8", "UTF-16"].contains(name.uppercased())
            if !isRead { unsafe ExpatReader.of(context).stop(.encoding(name)) }
        }
        unsafe XML_SetStartDoctypeDeclHandler(parser) { context, name, _, _, hasInternalSubset in
            let name = unsafe text(name)
            if hasInternalSubset != 0 {
                unsafe ExpatReader.of(context).stop(.internalSubset)
            } else if name != "plist" {
                unsafe ExpatReader.of(context).stop(.notPropertyList(name))
            }
        }
        unsafe XML_SetSkippedEntityHandler(parser) { context, name, _ in
            unsafe ExpatReader.of(context).stop(.entity(text(name)))
        }
        unsafe XML_SetProcessingInstructionHandler(parser) { context, target, _ in
            unsafe ExpatReader.of(context).stop(.processingInstruction(text(target)))
        }
    }

    private static func of(_ context: UnsafeMutableRawPointer?) -> ExpatReader {
        guard let context = unsafe context else { preconditionFailure("a handler is called with its reading") }
        return unsafe Unmanaged<ExpatReader>.fromOpaque(context).takeUnretainedValue()
    }

    private func take(_ event: (inout XMLTree) throws(PropertyListXMLError.Reason) -> Void) {
        // Stopping is not immediate: the end of an empty element still comes.
        guard fault == nil else { return }
        do throws(PropertyListXMLError.Reason) {
            try event(&tree)
        } catch {
            stop(error)
        }
    }

    private func stop(_ reason: PropertyListXMLError.Reason) {
        guard fault == nil else { return }
        fault = PropertyListXMLError(reason, at: location)
        _ = unsafe XML_StopParser(parser, 0)
    }
}

private func text(_ characters: UnsafePointer<XML_Char>?) -> String {
    unsafe characters.map { unsafe String(cString: $0) } ?? ""
}

/// The attributes of an element: names and values in turn, nil at the end.
private func pairs(
    _ attributes: UnsafeMutablePointer<UnsafePointer<XML_Char>?>?
) -> [(name: String, value: String)] {
    guard var rest = unsafe attributes else { return [] }
    var pairs: [(name: String, value: String)] = []
    while let name = unsafe rest[0] {
        pairs.append((unsafe text(name), unsafe text(rest[1])))
        unsafe rest += 2
    }
    return pairs
}
