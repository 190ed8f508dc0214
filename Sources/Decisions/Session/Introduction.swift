// Introduction of the other device over a new link (SES-92): the time in which its silence about an app says nothing.
// On a slow line the announcements take longer than LIM-44, so the time alone decides nothing.

/// The introduction of a device over one link, from hello to its end.
package struct Introduction: Sendable {
    /// The conditions of its end, in any order.
    package enum Step: Sendable, CaseIterable {
        /// The least time has passed (LIM-44).
        case timeIsOver
        /// The device has answered a question that followed hello: it announced its apps before.
        case deviceHasAnswered
    }

    private var awaited = Set(Step.allCases)

    package init() {}

    /// A condition holds.
    /// - Returns: whether the introduction ends with it.
    package mutating func complete(_ step: Step) -> Bool { awaited.remove(step) != nil && awaited.isEmpty }
}
