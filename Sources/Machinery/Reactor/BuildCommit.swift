// Commit that this program was built from, as the linker of a release states it. In this room because no other one
// imports the C that reads it.

internal import CTandemLinux

package enum BuildCommit {
    /// `+` and the first digits of the commit; empty in a build that is no release, or whose sources were no commit.
    package static var suffix: String {
        let number = tandem_build_commit()
        return number == 0 ? "" : "+\(String(number, radix: 16).dropFirst())"
    }
}
