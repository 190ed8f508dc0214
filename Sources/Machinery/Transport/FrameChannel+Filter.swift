// The channel's way through a filter. What the filter has to say leaves once, at the end of the turn; its failures close
// the channel, after what it still had to say (an alert) is out.

import TandemBytes
internal import TandemReactor

extension FrameChannel: TurnParticipant {
    func startFilter() {
        filtering { filter throws(StreamFilterError) in try filter.start() }
        scheduleFilterFlush()
    }

    func receive(_ bytes: UnsafeRawBufferPointer, through filter: any StreamFilter) {
        filtering { filter throws(StreamFilterError) in try filter.receive(bytes) }
        scheduleFilterFlush()
        if phase == .opening, filter.isEstablished { opened() }
        guard phase == .open else { return }
        var plaintext: [UInt8] = []
        filtering { filter throws(StreamFilterError) in plaintext = try filter.takePlaintext() }
        guard phase == .open, !plaintext.isEmpty else { return }
        plaintext.withUnsafeBytes { accept($0) }
    }

    func scheduleFilterFlush() {
        guard !isFilterFlushDue else { return }
        isFilterFlushDue = true
        scheduler.atEndOfTurn(self)
    }

    package func turnDidEnd() {
        isFilterFlushDue = false
        guard phase != .closed else { return }
        flushFilter()
    }

    /// Sends all that is queued and the filter's closing message.
    func finishFilter() {
        guard let filter else { return }
        flushFilter()
        filter.finish()
        sendOutput(of: filter)
    }

    private func flushFilter() {
        guard let filter else { return }
        if filter.isEstablished, !unfiltered.isEmpty {
            let plaintext = unfiltered.flatMap { $0.copied() }
            unfiltered = []
            unfilteredBytes = 0
            filtering { filter throws(StreamFilterError) in try filter.write(plaintext) }
        }
        if phase != .closed { sendOutput(of: filter) }
    }

    private func sendOutput(of filter: any StreamFilter) {
        let output = filter.takeOutput()
        if !output.isEmpty { stream.send(output) }
    }

    private func filtering(_ step: (any StreamFilter) throws(StreamFilterError) -> Void) {
        guard let filter, phase != .closed else { return }
        do throws(StreamFilterError) {
            try step(filter)
        } catch {
            sendOutput(of: filter)
            phase = .closed
            stream.closeAfterFlush(.filterFailed(error.description))
        }
    }
}
