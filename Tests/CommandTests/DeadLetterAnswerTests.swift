// Texts of `tandem dead-letters` about the daemon's answer.

import TandemOperations
import TandemPropertyList
import Testing

@testable import tandem

@Suite struct DeadLetterAnswerTests {
    @Test("CTL-16: contexts that a retry has dropped are a line, and are not counted as to be tried again")
    func outdated() {
        let none = DeadLetterAnswer.lines(Fact(["count": 2]), done: "to be tried again")
        #expect(none == ["2 to be tried again"])
        let some = DeadLetterAnswer.lines(Fact(["count": 1, "outdated": 3]), done: "to be tried again")
        #expect(some == ["1 to be tried again", "3 dropped instead: another context of the app applies"])
    }
}
