// Refusal of a form, for the page that is shown again with what was typed: by the rules of the page, by the daemon, or
// by the lack of its answer.

import TandemBase
import TandemOperations
import TandemPages
import TandemWire

/// Why a form changed nothing, or may have changed nothing.
struct FormRefusal {
    private(set) var status = 422
    /// For people; nil if the mistakes of the fields say it.
    private(set) var text: String?
    /// Values that the app's own checks do not take.
    private(set) var checks: [PageRefusal] = []
    /// Whether nothing was changed for certain: a change may have been stored whose answer was lost.
    private(set) var isCertain = true

    /// A refusal by the rules of the page.
    init(_ status: Int = 422, _ text: String? = nil) { (self.status, self.text) = (status, text) }

    /// A change that the daemon has not confirmed.
    init(_ error: ControlError) {
        text = error.description
        let unanswered = error.statusWithoutAnswer
        (status, isCertain) = (unanswered ?? 422, unanswered == nil || error.isNotSent)
        switch error {
        case .refused(_, let reason), .unsent(_, let reason): if isCertain, !reason.isEmpty { text = reason }
        case .unfit(let reason, let checks):
            text = reason
            self.checks = PageRefusal.all(in: checks)
        case .failed, .unusable, .unanswered, .silent: break
        }
    }

    /// The sentence above the mistakes.
    var heading: String {
        isCertain ? "Nothing was changed." : "No answer came: look whether it was stored before you save it again."
    }
}

extension ControlError {
    /// Whether the daemon has refused the request by this name.
    func isRefusal(_ wanted: ControlFailureName) -> Bool {
        if case .refused(let name, _) = self { ControlFailureName(word: name) == wanted } else { false }
    }

    /// Whether no daemon, or no device that it is for, has the request: it has changed nothing.
    fileprivate var isNotSent: Bool {
        switch self {
        case .unsent, .unanswered, .unusable: true
        case .refused, .unfit, .failed, .silent: false
        }
    }

    /// The status where no daemon has judged the request; nil for a refusal.
    var statusWithoutAnswer: Int? {
        switch self {
        case .refused(let name, _): ControlFailureName(word: name) == .unreachable ? 503 : nil
        case .unsent: 503
        case .unfit: nil
        case .failed, .unusable: 502
        case .unanswered, .silent: 504
        }
    }
}
