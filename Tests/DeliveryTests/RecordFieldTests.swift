// The numbers of stored fields: a store of any version is read by them.

import Testing

@testable import TandemDelivery

@Suite struct RecordFieldTests {
    @Test func aFieldKeepsItsNumber() {
        let numbers = Dictionary(uniqueKeysWithValues: RecordField.allCases.map { ("\($0)", $0.rawValue) })
        #expect(
            numbers == [
                "epoch": 1, "nextOrdinal": 2, "nextSequence": 3, "watermark": 4, "storedThrough": 5,
                "contextEpoch": 6, "clock": 7, "wall": 8, "id": 16, "sequence": 18, "size": 19, "accepted": 20,
                "expires": 21, "attempts": 22, "supersedes": 23, "topic": 24, "revision": 25, "kind": 26,
                "current": 27, "after": 28, "failure": 29, "acknowledged": 30, "withdrawal": 31, "handing": 32,
                "sent": 33, "stored": 34, "outcome": 35, "code": 36, "refusal": 37, "fileSize": 38,
                "pastEpoch": 39, "used": 48, "start": 49,
                "digest": 64, "body": 65,
            ])
    }
}
