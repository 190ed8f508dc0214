// The fuzz targets (Scripts/fuzz): any bytes, held against everything that must be true of them. One executable for all
// of them, whose environment says which it is, so that there is one thing to build.

import Glibc
import TandemPropertyListXML
import TandemTestSupport

private let target = getenv("TANDEM_FUZZ_TARGET").map { String(cString: $0) } ?? "reader"

@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = Array(UnsafeBufferPointer(start: start, count: count))
    let fault: String? =
        switch target {
        case "envelope": EnvelopeOracle.fault(in: input)
        case "frames": FrameOracle.fault(in: input)
        case "session": SessionTarget.fault(in: input)
        case "strings": StringsTarget.fault(in: input)
        case "xml": XMLTarget.fault(in: input)
        default: ReaderOracle.fault(in: input)
        }
    // Dying is what makes the fuzzer keep the input.
    if let fault { fatalError("\(target): \(fault)") }
    return 0
}

@_cdecl("LLVMFuzzerCustomMutator")
public func mutate(_ start: UnsafeMutablePointer<UInt8>, _ count: Int, _ room: Int, _ seed: CUnsignedInt) -> Int {
    switch target {
    case "frames", "strings", "xml": standardMutation(start, count, room)
    case "session": StreamMutation.mutate(start, count, room, seed)
    default: TableRepair.mutate(start, count, room, seed)
    }
}

/// A text that is read has one meaning: the text written from it is read as an equal value.
enum XMLTarget {
    static func fault(in input: [UInt8]) -> String? {
        guard let value = try? PropertyListXMLReader.read(input) else { return nil }
        do {
            let text = try PropertyListXMLWriter.write(value)
            return try PropertyListXMLReader.read(text) == value ? nil : "the text of \(value) is read as another value"
        } catch let error as PropertyListXMLError where error.reason == .fraction {
            return nil
        } catch {
            return "\(value) was read and is not written or read again: \(error)"
        }
    }
}

/// Translations that are read have one meaning: quoted again, they are read as equal texts.
enum StringsTarget {
    static func fault(in input: [UInt8]) -> String? {
        guard let texts = try? StringsReader.read(input) else { return nil }
        func quoted(_ text: String) -> String {
            let units = text.utf16.map { unit in
                let digits = String(unit, radix: 16)
                return "\\U" + String(repeating: "0", count: 4 - digits.count) + digits
            }
            return "\"\(units.joined())\""
        }
        let again = texts.map { "\(quoted($0.key)) = \(quoted($0.value));" }.joined(separator: "\n")
        guard again.utf8.count <= StringsReader.maximumLength else { return nil }
        return (try? StringsReader.read(Array(again.utf8))) == texts ? nil : "\(texts) are read as others"
    }
}
