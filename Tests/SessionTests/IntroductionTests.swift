// The end of a link's introduction (SES-92).

import TandemSession
import Testing

@Suite struct IntroductionTests {
    @Test(
        "SES-92: an introduction ends once, with the later one of its time and the answer of the other device",
        arguments: [[Introduction.Step.timeIsOver, .deviceHasAnswered], [.deviceHasAnswered, .timeIsOver]])
    func end(steps: [Introduction.Step]) {
        var introduction = Introduction()
        let ends = [steps[0], steps[0], steps[1], steps[1]].map { introduction.complete($0) }
        #expect(ends == [false, false, true, false])
    }
}
