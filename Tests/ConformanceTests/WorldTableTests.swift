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
        simulator: 98 of 146
            without a link a message is 7007, and goes again when it is back - no cut
            an item for an app that is not registered at its device is stored there, and waits for it - no control, cut
            an item that was never sent is taken back at once - no cut
            an item expires that is not sent in its time to live - no cut
            an item expires while its sender's daemon is away, and ends as soon as that is back - no cut, restart
            of items with one key that wait only the newest arrives - no cut
            a full queue refuses with 7001, and takes items again when it has room - no cut
            of many contexts that were set without a link one is given - no cut
            contexts are told again after everything was restarted - no restart
            an urgent item passes user infos that wait - no cut
            a file of other bytes than its digest says reaches no handler, and its sender is told - no cut, restart
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
            a used join link joins its device again, and no other one - no control
            a join link with a changed character joins nobody, and the link itself does - no control
            an expired join link joins nobody - no control
            after five wrong proofs a join link joins nobody - no control
            a device that joins again keeps its link - no control
            what waits in a pairing ends with it, and the next pairing of the devices is another one - no control
            items flow on after the primary's state was put back to an older copy - no restart
            items flow on after the secondary 0's state was put back to an older copy - no restart
            items that a device had stored and has lost with its state end as lost, and later ones arrive - no restart
            an item that failed too often is kept where it failed, and given again when its operator asks - no control
            of the versions applied while a secondary is away the newest arrives when it is back - no cut
            a desired configuration outlives the primary's daemon, and arrives afterwards - no cut, kill, restart
            applied, waiting and refused versions outlive the secondary's daemon - no kill, restart
            the end of a pairing ends its configuration, whose versions stay refused in the next one - no control
        manual: 146 of 146
        unixSockets: 139 of 146
            files flow on when the primary's daemon was killed - no kill
            files flow on when the secondary 0's daemon was killed - no kill
            everything at once: cuts, kills, lost and repeated frames - no kill, manualTime
            the primary's daemon may be killed at any time - no kill
            the secondary 0's daemon may be killed at any time - no kill
            a desired configuration outlives the primary's daemon, and arrives afterwards - no kill
            applied, waiting and refused versions outlive the secondary's daemon - no kill
        tcp: 139 of 146
            files flow on when the primary's daemon was killed - no kill
            files flow on when the secondary 0's daemon was killed - no kill
            everything at once: cuts, kills, lost and repeated frames - no kill, manualTime
            the primary's daemon may be killed at any time - no kill
            the secondary 0's daemon may be killed at any time - no kill
            a desired configuration outlives the primary's daemon, and arrives afterwards - no kill
            applied, waiting and refused versions outlive the secondary's daemon - no kill
        processes: 139 of 146
            everything at once: cuts, kills, lost and repeated frames - no frameFaults, manualTime
            frames of kind 'item' that are lost change nothing - no frameFaults
            frames of kind 'stored' that are lost change nothing - no frameFaults
            frames of kind 'outcome' that are lost change nothing - no frameFaults
            frames of kind 'outcomeAck' that are lost change nothing - no frameFaults
            frames of durable items that are repeated change nothing - no frameFaults
            frames of durable items that are overtaken change nothing - no frameFaults
        """
}
