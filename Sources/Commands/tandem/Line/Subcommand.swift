// A subcommand as a value: its words, its options, its help and its function. `all` is the only list of them.

import TandemControl

/// A subcommand of `tandem`.
struct Subcommand: Sendable {
    /// Its words, `["keys", "new"]`.
    let path: [String]
    /// One line for the overview.
    let summary: String
    private(set) var operands: [Operand] = []
    private(set) var options: [Option] = []
    /// Whether it runs until a signal: the journal may read its standard error.
    private(set) var isService = false
    /// Notes that help shows below the options.
    private(set) var notes = ""
    /// Command lines without the leading `tandem`.
    let examples: [String]
    /// Does the work; throws what went wrong. Exit code 0 is returning.
    let run: @Sendable (Arguments, Console) async throws -> Void

    var name: String { path.joined(separator: " ") }

    /// The options, and those that may name an operand.
    var namedOptions: [Option] { options + operands.compactMap(\.option) }
}

extension Subcommand {
    /// The subcommand that the arguments begin with, and the arguments after its words.
    static func find(_ arguments: [String]) throws(CommandFailure) -> (Subcommand, [String]) {
        if let found = all.first(where: { arguments.starts(with: $0.path) }) {
            return (found, Array(arguments.dropFirst(found.path.count)))
        }
        let first = arguments.first ?? ""
        let family = all.filter { $0.path.first == first }.map(\.name)
        if !family.isEmpty { throw .usage("'\(first)' needs one of: \(family.joined(separator: ", "))") }
        let words = all.compactMap(\.path.first) + ["--help", "--version"]
        let question = NearestWord.suffix(first, among: words)
        throw .usage("unknown command '\(first)'\(question)")
    }
}

extension Subcommand {
    static var all: [Subcommand] { groups.flatMap(\.members) }

    /// All of them under the titles of the overview.
    static var groups: [(title: String, members: [Subcommand])] {
        [
            ("daemons", [primary, secondary, configCheck, configKeys, simulate]),
            ("state of a daemon", [status, health, ready, drain, trace, dump]),
            (
                "pairing",
                [
                    pair, pairCancel, join, switchDevice, address, unpair, trustDevice, trustedDevicesList,
                    trustedDevicesRemove, farSecondariesRemove, allowVersion,
                ]
            ),
            (
                "messages and items",
                [
                    send, receive, contextSet, contextShow, transfersList, transfersCancel, deadLettersList,
                    deadLettersRetry, deadLettersDrop,
                ]
            ),
            ("apps", [appsList, appsRemove, appsAssign, identifierAccept, identifierClear]),
            (
                "keys and signing, without a daemon",
                [
                    keysNew, keysShow, keySetInit, keySetRotate, keySetRevoke, keySetShow, keySetExport, cosign, sign,
                    verify,
                ]
            ),
            (
                "signed configuration",
                [
                    trustAdd, trustList, trustRemove, trustReplace, apply, configurationList, configurationShow,
                    configurationWithdraw,
                ]
            ),
            (
                "settings",
                [
                    settingsPages, settingsEdit, settingsList, settingsGet, settingsSet, settingsChoices, settingsReset,
                    settingsPress, settingsWatch, settingsExport, settingsImport, settingsSchema,
                ]
            ),
        ]
    }
}
