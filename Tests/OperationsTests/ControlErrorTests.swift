// Refusals of a daemon in the form that programs read.

import TandemOperations
import TandemPropertyList
import Testing

@Suite struct ControlErrorTests {
    @Test("CTL-67: a refusal is an object with its name and text, and what is no daemon's answer is none")
    func refusal() {
        let refused = ControlError.refused(name: "rollback", text: "version 2 is desired")
        #expect(refused.refusal == ["error": "rollback", "text": "version 2 is desired"])
        let unfit = ControlError.unfit(text: "no", checks: ["volume": ["text": "too loud"]])
        #expect(unfit.refusal == ["error": "refused", "text": "no", "checks": ["volume": ["text": "too loud"]]])
        for error in [ControlError.failed("x"), .unanswered("x"), .silent("x"), .unusable("x")] {
            #expect(error.refusal == nil)
        }
    }
}
