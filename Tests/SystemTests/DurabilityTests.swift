// The promise of the durable channels with everything dying: whatever was accepted arrives, in order and once, though
// both daemons and both apps are killed in the middle of it (DEL-1 to DEL-11). The script `durability` runs the same
// with other numbers, by the environment.

import Foundation
import Testing

@Suite(.serialized, .timeLimit(.minutes(60))) struct DurabilityTests {
    @Test func `what was accepted arrives in order and once, whoever is killed meanwhile`() async throws {
        let plan = DeathPlan(
            items: Self.number("ITEMS", 400), kills: Int(Self.number("KILLS", 10)), seed: UInt64(Self.number("SEED", 1))
        )
        let begun = ContinuousClock.now
        let run = try await DurabilityRun(plan)
        let record = try await run.run()
        let kills = await run.kills
        let refusals = await run.refusals
        print(Self.report(plan, record, kills, ContinuousClock.now - begun))
        #expect(record.breaches.isEmpty, "seed \(plan.seed): \(record.breaches.prefix(20))")
        #expect(kills.values.reduce(0, +) == plan.bystanders.count + plan.submitters.count)
        // Not heard is what was in the air, one item for each death.
        #expect(record.submitted - Int64(record.accepted.count) <= kills.values.reduce(0, +), "\(refusals)")
    }

    @Test(
        arguments: [
            ([0, 1, 2], []), ([0, 2], ["accepted and lost: 1"]), ([0, 1, 2, 7], ["never submitted: 7"]),
        ] as [([Int64], [String])])
    func `a record tells what is missing and what is too much`(numbers: [Int64], breaches: [String]) {
        let record = DeliveryRecord(
            submitted: 3, accepted: [0, 1], deliveries: numbers.map { .init(number: $0, id: "\($0)", attempt: 1) })
        #expect(record.breaches == breaches)
    }

    @Test func `a record tells disorder, a repetition without its mark, and two items in place of one`() {
        func breaches(_ later: DeliveryRecord.Delivery...) -> Int {
            let first = DeliveryRecord.Delivery(number: 1, id: "A", attempt: 1)
            return DeliveryRecord(submitted: 3, accepted: [], deliveries: [first] + later).breaches.count
        }
        #expect(breaches(.init(number: 0, id: "B", attempt: 1)) == 1)
        #expect(breaches(.init(number: 1, id: "A", attempt: 1)) == 1)
        #expect(breaches(.init(number: 1, id: "B", attempt: 2)) == 1)
        #expect(breaches(.init(number: 1, id: "A", attempt: 2), .init(number: 2, id: "C", attempt: 1)) == 0)
    }

    @Test func `a plan is its seed's, and kills each equally often`() {
        let (one, same) = (DeathPlan(items: 100, kills: 20, seed: 7), DeathPlan(items: 100, kills: 20, seed: 7))
        #expect(one.bystanders.map(\.item) == same.bystanders.map(\.item))
        #expect(one.bystanders.count == 12 && one.submitters.count == 8)
        #expect(one.bystanders.map(\.item) != DeathPlan(items: 100, kills: 20, seed: 8).bystanders.map(\.item))
    }

    private static func number(_ name: String, _ usual: Int64) -> Int64 {
        ProcessInfo.processInfo.environment["TANDEM_DURABILITY_\(name)"].flatMap { Int64($0) } ?? usual
    }

    private static func report(
        _ plan: DeathPlan, _ record: DeliveryRecord, _ kills: [DeathPlan.Victim: Int], _ time: Duration
    ) -> String {
        let killed = DeathPlan.Victim.allCases.map { "\($0) \(kills[$0] ?? 0)" }.joined(separator: ", ")
        let distinct = Set(record.deliveries.map(\.number)).count
        return """
            durability: seed \(plan.seed): submitted \(record.submitted), accepted \(record.accepted.count), \
            delivered \(distinct), redelivered \(record.deliveries.count - distinct), \
            breaches \(record.breaches.count); killed \(killed); \(time.components.seconds) s
            """
    }
}
