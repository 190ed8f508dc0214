// Session errors (SES-20): Apple's numbers and names, and the way through a `failure` frame.

import TandemBase
import TandemPropertyList
import TandemTestSupport
import TandemWire
import Testing

@Suite struct SessionErrorTests {
    @Test func theNineteenCodesHaveApplesNumbersInOrder() {
        #expect(SessionError.Code.allCases.map(\.rawValue) == Array(7001...7019))
        #expect(SessionError.Code.payloadTooLarge.rawValue == 7009)
        #expect(SessionError.Code.messageReplyTimedOut.rawValue == 7012)
        #expect(SessionError.Code.companionAppNotInstalled.rawValue == 7018)
    }

    @Test(arguments: SessionError.Code.allCases)
    func anErrorComesThroughAFailureWithItsFacts(code: SessionError.Code) throws {
        let id = UniqueIdentifier.random()
        let error = SessionError(
            code, name: "word", reason: "what happened", actual: 70_000, limit: 65_536, keyPath: "a.b[2]",
            messageID: id, isRetryable: true)
        let frame = try error.failure(app: ApplicationIdentifier("a.b"), pairing: .random(), id: id).frame()
        #expect(try SessionError(failure: Envelope(reading: frame)) == error)
    }

    @Test("LIM-148: a text or a path of any length leaves in a failure, cut behind a whole scalar")
    func longTexts() throws {
        let long = "x" + String(repeating: "\u{e9}", count: 300 * 1024)
        let error = SessionError(.messageReplyFailed, name: "handler-failed", reason: long, keyPath: long)
        let frame = try error.failure(app: ApplicationIdentifier("a.b"), pairing: .random(), id: .random()).frame()
        let read = try SessionError(failure: Envelope(reading: frame))
        #expect(read.reason == "x" + String(repeating: "\u{e9}", count: 2047) && read.keyPath == read.reason)
        let most = SessionError(.messageReplyFailed, reason: String(repeating: "x", count: 4096))
        let whole = try most.failure(app: ApplicationIdentifier("a.b"), pairing: .random(), id: .random()).frame()
        #expect(try SessionError(failure: Envelope(reading: whole)).reason == most.reason)
    }

    private func failure(code: Int? = nil, name: String? = nil) throws -> Envelope {
        Envelope(
            .failure, app: try ApplicationIdentifier("a.b"), pairing: .random(), id: .random(), code: code, name: name)
    }

    @Test func anUnknownNumberBecomesAGenericErrorThatNamesIt() throws {
        let envelope = try failure(code: 7999, name: "new").with(body: ["text": "odd"])
        let error = try SessionError(failure: envelope)
        #expect(error.code == .genericError)
        #expect(error.reason.contains("7999"))
        #expect(error.name == "new")
    }

    @Test func aFailureWithoutBodyIsStillAnError() throws {
        let error = try SessionError(failure: failure(code: 7007))
        #expect(error.code == .notReachable)
        #expect(error.isRetryable)
        #expect(throws: WireError.missingKey(.code, .failure)) { try SessionError(failure: failure()) }
    }

    @Test func theTextSaysCodeReasonAndPlace() {
        let error = SessionError(
            .payloadTooLarge, name: "big", reason: "message too large", actual: 70_000, limit: 65_536, keyPath: "a")
        #expect(error.description == "7009 payloadTooLarge: message too large [big] (70000, limit 65536) at a")
        #expect(!error.isRetryable)
    }

    @Test("LIM-13: printing an error shows a counterpart's text escaped and cut, and the reason keeps it")
    func textOfACounterpart() {
        let reason = "boom \u{1b}[31m red\nline2\u{202e} " + String(repeating: "x", count: 300)
        let error = SessionError(
            .messageReplyFailed, name: "handler-failed", reason: reason,
            keyPath: "a\n" + String(repeating: "b", count: 200))
        let shown = "boom \\u{1b}[31m red\\nline2\\u{202e} "
        let start = "7011 messageReplyFailed: \(shown)\(String(repeating: "x", count: 128 - shown.utf8.count))\u{2026}"
        #expect(error.description.hasPrefix(start + " [handler-failed] at a\\nbbb"))
        #expect(error.description.utf8.count < 400 && error.reason == reason)
        #expect(!error.description.unicodeScalars.contains { $0.value < 0x20 || $0 == "\u{202e}" })
    }

    @Test(
        "LIM-13, SES-28, SES-31: the text beside each name that the receiving app's library answers with is cut",
        arguments: [
            "unhandled", "inbox-full", "malformed", "reserved-key", "handler-failed", "reply-dropped", "reply-invalid",
            "not-active",
        ])
    func namesOfACounterpart(name: String) {
        let error = SessionError(.genericError, name: name, reason: String(repeating: "x", count: 300))
        #expect(error.description == "7001 genericError: \(String(repeating: "x", count: 128))\u{2026} [\(name)]")
    }

    @Test("LIM-13: an own reason is shown whole, on one line")
    func ownText() {
        let reason = "/tmp/a\nb does not exist" + String(repeating: ".", count: 300)
        let error = SessionError(.fileAccessDenied, name: "file-missing", reason: reason)
        #expect(error.description.contains("/tmp/a\\nb does") && error.description.contains("...... [file-missing]"))
        #expect(error.description.utf8.count > 300)
    }
}
