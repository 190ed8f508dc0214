// Metrics of a status: the lines for a user who is told nothing of the device.

import TandemOperations
import TandemPropertyList
import Testing

@testable import tandem

@Suite struct MetricsTests {
    @Test("CTL-66, CTL-2: a user to whom the daemon does not show the device gets no line, and no word on its health")
    func ownAppsOnly() {
        let own: PropertyListDictionary = [
            "applications": [["app": "org.example.lamp", "uid": 1000, "connected": true]], "configurations": [],
        ]
        #expect(Metrics(Fact(own)).lines.isEmpty)
        let device: PropertyListDictionary = [
            "role": "primary", "uptime": 1500, "health": ["state": "degraded", "problems": []],
        ]
        let lines = Metrics(Fact(device)).lines
        #expect(lines.contains("tandem_healthy{role=\"primary\"} 0.0"), "\(lines)")
        #expect(lines.contains("tandem_uptime_seconds{role=\"primary\"} 1.5"), "\(lines)")
    }
}
