// Foundation's values by Apple's names: what is sent as what, and what the error says of a value that cannot be sent.

import Foundation
import PairedSession
import PairedSessionFoundation
import Synchronization
import TandemBase
import TandemPropertyList
import TandemReactor
import TandemSession
import TandemTestSupport
import TandemWire
import Testing

/// Remembers the errors of files, and replies with what it is told to.
private final class ValueDelegate: WCSessionDelegate {
    let errors = Mutex<[WCError]>([])
    let reply: @Sendable () -> [String: Any]

    init(_ reply: @escaping @Sendable () -> [String: Any]) { self.reply = reply }

    func session(_ session: WCSession, activationDidCompleteWith state: WCSessionActivationState, error: (any Error)?) {
    }

    func session(
        _ session: WCSession, didReceiveMessage message: [String: Any],
        replyHandler: @escaping @Sendable ([String: Any]) -> Void
    ) { replyHandler(reply()) }

    func session(_ session: WCSession, didFinish fileTransfer: WCSessionFileTransfer, error: (any Error)?) {
        add(error)
    }

    func session(_ session: WCSession, didFinish userInfoTransfer: WCSessionUserInfoTransfer, error: (any Error)?) {
        add(error)
    }

    private func add(_ error: (any Error)?) {
        if let error = error as? WCError { errors.withLock { $0.append(error) } }
    }
}

private struct ValueSession: WCSessionSuite {
    let apple: WCSessionFixture<ValueDelegate>

    init(reply: @escaping @Sendable () -> [String: Any] = { [:] }) throws {
        apple = try WCSessionFixture(ValueDelegate(reply))
        fixture.daemon.pair()
        activate()
    }

    func error(_ message: [String: Any]) -> SessionError? {
        let errors = Collector<SessionError>()
        session.sendMessage(message, replyHandler: nil) {
            if let error = $0 as? WCError { errors.add(error.underlyingError) }
        }
        settle()
        return errors.all.first
    }

    /// The body of a message that was sent.
    func body(_ message: [String: Any]) throws -> PropertyListDictionary {
        session.sendMessage(message, replyHandler: nil)
        settle()
        return try #require(fixture.daemon.received.last { $0.kind == .message }).dictionaryBody()
    }

    /// The error that the sender of a message gets for the delegate's reply.
    func replyRefusal() throws -> SessionError {
        try fixture.daemon.message(reply: true)
        settle()
        return try SessionError(failure: try #require(fixture.daemon.received.last { $0.kind == .failure }))
    }
}

struct FoundationValueTests {
    // MARK: containers

    /// Containers without an end, each by its name. Each keeps itself alive for ever.
    private static func endless() -> [(name: String, value: Any)] {
        let dictionary = NSMutableDictionary()
        dictionary["me"] = dictionary
        let array = NSMutableArray()
        array.add(array)
        let (first, second) = (NSMutableArray(), NSMutableDictionary())
        first.add(second)
        second["back"] = first
        let deep = NSMutableArray()
        var inner = deep
        for _ in 0..<20_000 {
            let next = NSMutableArray()
            inner.add(next)
            inner = next
        }
        let optional: NSMutableDictionary? = dictionary
        return [
            ("dictionary", dictionary), ("array", array), ("each other", first), ("20,000 levels", deep),
            ("optional", optional as Any), ("hashable", AnyHashable(array)), ("Swift array", [dictionary]),
            ("Swift dictionary", ["a": array]), ("by hashable key", ["a": dictionary] as [AnyHashable: Any]),
            ("in Foundation's", NSArray(object: dictionary)),
        ]
    }

    @Test(
        "SES-13: a container that contains itself, or is too deep, is 7010 with its key path, and the process goes on")
    func endlessContainers() async {
        await #expect(processExitsWith: .success) {
            let place = try ValueSession()
            for (name, value) in FoundationValueTests.endless() {
                let error = place.error(["a": 1, "x": value])
                #expect(error?.code == .payloadUnsupportedTypes, "\(name)")
                #expect(error?.reason == "the message holds more than 64 levels", "\(name)")
                #expect(error?.keyPath?.hasPrefix("x") == true && (error?.keyPath?.count ?? 0) > 128, "\(name)")
            }
        }
    }

    @Test("SES-13: a set is 7010 by its type, also one whose array contains the set")
    func sets() throws {
        let set = NSMutableSet()
        let array = NSMutableArray()
        set.add(array)
        array.add(set)
        defer { array.removeAllObjects() }
        let place = try ValueSession()
        #expect(place.error(["x": set])?.reason.contains("a value of the type NSMutableSet") == true)
        #expect(place.error(["x": NSArray(object: set)])?.keyPath == "x[0]")
        #expect(place.error(["x": Set([1])])?.reason.contains("a value of the type Set<Int>") == true)
    }

    @Test("LIM-12: containers that hold each other so often that no memory would do are 7010")
    func shared() throws {
        var array = NSArray(object: 1)
        for _ in 0..<40 { array = NSArray(objects: array, array) }
        let error = try ValueSession().error(["x": array])
        #expect(error?.code == .payloadUnsupportedTypes && error?.reason == "the message holds more than 65536 values")
    }

    @Test("SES-13: what Foundation's containers hold is sent as Swift's are")
    func foundationContainers() throws {
        let date = Date(timeIntervalSinceReferenceDate: 12.5)
        let inner = NSMutableDictionary()
        inner["n"] = 3
        inner["list"] = NSMutableArray(array: ["a", 1.5, true, Data([1]), date])
        inner["empty"] = NSDictionary()
        let expected: PropertyListDictionary = [
            "n": 3, "empty": .dictionary([:]),
            "list": .array([
                "a", .real(1.5), .boolean(true), .data([1]), .date(.init(millisecondsSinceReferenceDate: 12_500)),
            ]),
        ]
        let sent = try ValueSession().body([
            "x": inner, "y": NSArray(object: inner), "z": [inner], "e": NSArray(), "o": Int?.some(4) as Any,
        ])
        #expect(
            sent == [
                "x": .dictionary(expected), "y": .array([.dictionary(expected)]), "z": .array([.dictionary(expected)]),
                "e": .array([]), "o": 4,
            ])
    }

    @Test("LIM-12: a message of 20,000 keys is refused in one pass")
    func manyKeys() throws {
        let session = try ValueSession()
        let message = Dictionary(uniqueKeysWithValues: (0..<20_000).map { ("key \($0)", $0 as Any) })
        let begin = ThreadTime.now
        #expect(session.error(message)?.code == .payloadUnsupportedTypes)
        #expect(ThreadTime.now - begin < .seconds(2), "\(ThreadTime.now - begin)")
    }

    // MARK: numbers

    @Test("SES-13: CGFloat and Decimal are reals, a Decimal the nearest one, also within Foundation's containers")
    func numbers() throws {
        let decimal = try #require(Decimal(string: "3.14159265358979"))
        let sent = try ValueSession().body([
            "g": CGFloat(1.25), "d": decimal, "n": NSDecimalNumber(decimal: decimal), "whole": Decimal(7),
            "list": NSArray(array: [decimal, CGFloat(0.5)]),
        ])
        #expect(
            sent == [
                "g": .real(1.25), "d": .real(3.14159265358979), "n": .real(3.14159265358979), "whole": .real(7),
                "list": .array([.real(3.14159265358979), .real(0.5)]),
            ])
        #expect(try ValueSession().error(["x": Decimal.nan])?.reason == "the message holds a real that is not finite")
    }

    @Test("SES-13: Date.distantFuture is a date like any other, and distantPast, before the year 1, is none")
    func distantDates() throws {
        let place = try ValueSession()
        let sent = try place.body(["future": Date.distantFuture])
        #expect(sent == ["future": .date(PropertyListDate(millisecondsSinceReferenceDate: 63_113_904_000_000))])
        #expect(
            place.error(["past": Date.distantPast])?.reason == "the message holds a date outside the years 1 to 9999")
    }

    // MARK: errors

    @Test("SES-37: the error of a value that cannot be sent names its type, or its fault, and its key path")
    func texts() throws {
        let place = try ValueSession()
        let cases: [(Any, String)] = [
            (URL(fileURLWithPath: "/"), "a value of the type URL, which no property list can hold"),
            (UUID(), "a value of the type UUID, which no property list can hold"),
            (NSArray(object: UUID()), "a value of the type NSUUID, which no property list can hold"),
            (NSNull(), "a value of the type NSNull, which no property list can hold"),
            (Int?.none as Any, "a value of the type Optional<Int>, which no property list can hold"),
            (Double.nan, "a real that is not finite"), (Float.infinity, "a real that is not finite"),
            (Date.distantPast, "a date outside the years 1 to 9999"),
            (Date(timeIntervalSinceReferenceDate: .infinity), "a date outside the years 1 to 9999"),
            (Int128.max, "an integer that does not fit 64 bits"),
            (
                NSDictionary(object: 1, forKey: 2 as NSNumber),
                "a dictionary with a key that is not a string"
            ),
        ]
        for (value, text) in cases {
            let error = place.error(["a": ["b": value]])
            #expect(error?.code == .payloadUnsupportedTypes && error?.reason == "the message holds \(text)")
            #expect(error?.keyPath?.hasPrefix("a.b") == true)
        }
        #expect(place.fixture.daemon.received.allSatisfy { $0.kind != .message })
    }

    @Test("SES-37: 7010 calls a context a context, a user info, metadata and a reply each by its name")
    func kinds() throws {
        let place = try ValueSession { ["u": URL(fileURLWithPath: "/")] }
        let bad: [String: Any] = ["u": URL(fileURLWithPath: "/"), "n": 1]
        let fault = "a value of the type URL, which no property list can hold"
        let thrown = #expect(throws: WCError.self) { try place.session.updateApplicationContext(bad) }
        #expect(thrown?.underlyingError.reason == "the context holds \(fault)" && thrown?.keyPath == "u")
        place.session.transferUserInfo(bad)
        place.session.transferCurrentComplicationUserInfo(["n": Double.nan])
        place.session.transferFile(URL(fileURLWithPath: "/etc/hostname"), metadata: bad)
        place.session.transferFile(URL(fileURLWithPath: "/etc/hostname"), metadata: ["n": Double.nan])
        for _ in 0..<100 where place.delegate.errors.withLock({ $0.count < 4 }) {
            place.fixture.core.run { $0.waitForFiles() }
            place.settle()
        }
        let errors = place.delegate.errors.withLock { $0 }
        #expect(errors.allSatisfy { $0.code == .payloadUnsupportedTypes })
        #expect(
            Set(errors.map { "\($0.underlyingError.reason) at \($0.keyPath ?? "-")" }) == [
                "the user info holds \(fault) at u", "the user info holds a real that is not finite at n",
                "the metadata holds \(fault) at metadata.u",
                "the metadata holds a real that is not finite at metadata.n",
            ])
        let refusal = try place.replyRefusal()
        #expect(refusal.code == .messageReplyFailed && refusal.reason == "the reply holds \(fault)")
    }

    @Test("LIM-12, SES-37: a key that cannot be sent is 7010 with its fault, and the key path of its dictionary")
    func keys() throws {
        let place = try ValueSession()
        let long = String(repeating: "k", count: 257)
        let cases = [
            ("", "a dictionary with a key of 0 bytes; a key has 1 to 256"),
            (long, "a dictionary with a key of 257 bytes; a key has 1 to 256"),
            ("a\0b", "a dictionary with a key that contains a NUL"),
        ]
        for (key, text) in cases {
            for (message, path) in [([key: 1], nil), (["a": ["b": [[key: 1]]]], "a.b[0]")] as [([String: Any], String?)]
            {
                let error = place.error(message)
                #expect(error?.code == .payloadUnsupportedTypes && error?.reason == "the message holds \(text)")
                #expect(error?.keyPath == path)
            }
        }
    }

    @Test("LIM-12, SES-37: below a key that is too long no value is looked at, so that a reply's failure fits a frame")
    func longKeyOfReply() throws {
        let key = String(repeating: "k", count: Limits.frame + 1)
        let place = try ValueSession { ["a": [key: URL(fileURLWithPath: "/")]] }
        let refusal = try place.replyRefusal()
        #expect(refusal.code == .messageReplyFailed && refusal.keyPath == "a")
        #expect(refusal.reason.contains("a key of \(Limits.frame + 1) bytes"), "\(refusal)")
    }

    @Test("SES-13, SES-15: a reserved key is 7008, whatever else of the dictionary cannot be sent")
    func reservedKeyFirst() throws {
        let place = try ValueSession()
        let long = String(repeating: "k", count: 257)
        let messages: [[String: Any]] = [["tandem.a": 1, "u": Set([1])], ["tandem.a": 1, long: 1]]
        for message in messages {
            let error = place.error(message)
            #expect(error?.code == .invalidParameter && error?.isNamed(.reservedKey) == true, "\(message)")
        }
        #expect(place.error(["a": ["tandem.a": Set([1])]])?.code == .payloadUnsupportedTypes)
    }
}
