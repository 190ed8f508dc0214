// The table of the suite, so that nothing is left out silently: what each world cannot run, and for want of what.

import TandemConformance
import Testing

@Suite struct WorldTableTests {
    @Test func `the worlds run these cases and no others`() {
        var lines: [String] = []
        for kind in WorldKind.allCases {
            let absent = Case.all.filter { !kind.missing(for: $0).isEmpty }
            lines.append("\(kind): \(Case.all.count - absent.count) of \(Case.all.count)")
            lines += absent.map { each in
                "    \(each.name) - no \(kind.missing(for: each).map(\.rawValue).joined(separator: ", "))"
            }
        }
        #expect(lines.joined(separator: "\n") == Self.table)
    }

    private static let table = """
        simulator: 61 of 92
            without a link a message is 7007, and goes again when it is back - no cut
            an item that was never sent is taken back at once - no cut
            an item expires that is not sent in its time to live - no cut
            of items with one key that wait only the newest arrives - no cut
            a full queue refuses with 7001, and takes items again when it has room - no cut
            of many contexts that were set without a link one is given - no cut
            contexts are told again after everything was restarted - no restart
            an urgent item passes user infos that wait - no cut
            files go on where they were when links are cut - no cut
            files come through late, broken and stalled streams - no cut, streamFaults
            files flow on when the primary's daemon was stopped - no restart
            files flow on when the secondary 0's daemon was stopped - no restart
            files flow on when the primary's daemon was killed - no kill, restart
            files flow on when the secondary 0's daemon was killed - no kill, restart
            links that are cut at random lose nothing - no cut
            a link that comes and goes each second ends on the true state - no cut
            late, broken and stalled streams lose nothing - no cut, streamFaults
            everything at once: cuts, kills, lost and repeated frames - no cut, frameFaults, kill, restart
            the primary's daemon may be stopped at any time - no restart
            the secondary 0's daemon may be stopped at any time - no restart
            the primary's daemon may be killed at any time - no kill, restart
            the secondary 0's daemon may be killed at any time - no kill, restart
            items that wait while the primary's daemon is restarted arrive, and their ends are told - no restart
            items that wait while the secondary 0's daemon is restarted arrive, and their ends are told - no restart
            frames of kind 'item' that are lost change nothing - no cut, frameFaults
            frames of kind 'stored' that are lost change nothing - no cut, frameFaults
            frames of kind 'outcome' that are lost change nothing - no cut, frameFaults
            frames of kind 'outcomeAck' that are lost change nothing - no cut, frameFaults
            frames of durable items that are repeated change nothing - no cut, frameFaults
            frames of durable items that are overtaken change nothing - no cut, frameFaults
            a daemon that stops in order says bye to its apps - no restart
        manual: 92 of 92
        unixSockets: 87 of 92
            files flow on when the primary's daemon was killed - no kill
            files flow on when the secondary 0's daemon was killed - no kill
            everything at once: cuts, kills, lost and repeated frames - no kill, manualTime
            the primary's daemon may be killed at any time - no kill
            the secondary 0's daemon may be killed at any time - no kill
        tcp: 87 of 92
            files flow on when the primary's daemon was killed - no kill
            files flow on when the secondary 0's daemon was killed - no kill
            everything at once: cuts, kills, lost and repeated frames - no kill, manualTime
            the primary's daemon may be killed at any time - no kill
            the secondary 0's daemon may be killed at any time - no kill
        processes: 85 of 92
            everything at once: cuts, kills, lost and repeated frames - no frameFaults, manualTime
            frames of kind 'item' that are lost change nothing - no frameFaults
            frames of kind 'stored' that are lost change nothing - no frameFaults
            frames of kind 'outcome' that are lost change nothing - no frameFaults
            frames of kind 'outcomeAck' that are lost change nothing - no frameFaults
            frames of durable items that are repeated change nothing - no frameFaults
            frames of durable items that are overtaken change nothing - no frameFaults
        """
}
