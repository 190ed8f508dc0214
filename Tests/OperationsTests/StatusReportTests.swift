// Status as tables for people.

import TandemBase
import TandemOperations
import TandemPropertyList
import Testing

@Suite struct StatusReportTests {
    @Test(
        "CTL-61: the table of join links has the time and attempts of open ones, and the devices that used the others")
    func links() throws {
        let token: [UInt8] = [0x3F, 0x2A, 0x91, 0xBC, 0xFF]
        let report = StatusReport(
            Fact([
                "links": [
                    ["token": .data(token), "left": 240_000, "attempts": 4],
                    [
                        "token": .data(token), "left": 240_000, "attempts": 4, "pairing": .data([1, 2]),
                        "name": "kiosk",
                    ],
                    ["token": .data(token), "left": 240_000, "attempts": 4, "pairing": .data([1, 2])],
                ]
            ]))
        let table = try #require(report.tables.first { $0.title == "join links" })
        #expect(table.columns == ["link", "open for", "attempts left", "used by"])
        #expect(
            table.rows == [
                ["3f2a91bc", "4 min", "4", "-"], ["3f2a91bc", "-", "-", "kiosk"], ["3f2a91bc", "-", "-", "0102"],
            ])
        #expect(!StatusReport(Fact([:])).lines.contains("join links"))
    }
}
