// Which of the files is applied: the staged one if it passes every step, else what was applied before. Each candidate
// is verified on its own; one that fails never takes another down.

import TandemBase
import TandemSignedConfiguration

struct ConfigurationLoading {
    private(set) var files: ConfigurationFiles
    let judge: ConfigurationJudge

    init(files: ConfigurationFiles, judge: ConfigurationJudge) {
        self.files = files
        self.judge = judge
    }

    /// - Parameter known: what is applied already where no files are kept.
    mutating func best(known: AppliedRecord?) -> AppliedRecord? {
        let active = known ?? applied(files.active, "configuration.plist")
        if let staged = staged(active) { return staged }
        let waived = applied(files.waived, "waived.plist")
        guard let waived else { return active }
        guard let active else { return waived }
        return waived.configuration.payload.version > active.configuration.payload.version ? waived : active
    }

    private mutating func staged(_ active: AppliedRecord?) -> AppliedRecord? {
        guard let staged = files.staged else { return nil }
        let claim = ConfigurationJudge.Claim(
            envelope: staged.record.envelope, target: staged.record.key.target, device: staged.record.device,
            allowsInvalid: staged.allowsInvalid)
        do {
            return try judge.judgeNew(claim, mark: staged.mark, active: active)
        } catch {
            files.fail("staged.plist", error.detail, name: error.rejection.rawValue)
            return nil
        }
    }

    private mutating func applied(_ file: ActiveConfiguration?, _ name: String) -> AppliedRecord? {
        guard let file else { return nil }
        guard !file.isOver(at: judge.now) else {
            files.fail(name, "its lifetime is over", name: "reverted")
            return nil
        }
        let claim = ConfigurationJudge.Claim(
            envelope: file.record.envelope, target: file.record.key.target, device: file.record.device,
            allowsInvalid: file.isWaived)
        do {
            return try judge.judgeApplied(claim, applied: file.applied)
        } catch {
            files.fail(name, error.detail, name: error.rejection.rawValue)
            return nil
        }
    }
}
