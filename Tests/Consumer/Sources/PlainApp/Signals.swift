// The orderly end of an app that a signal stops.

import Dispatch
import Glibc
import PairedSession

// snippet.signals
/// Ends the session in order at SIGTERM and Ctrl-C. The caller keeps the result.
func endAtSignals(_ session: PairedSession) -> [any DispatchSourceSignal] {
    [SIGTERM, SIGINT].map { number in
        signal(number, SIG_IGN)  // the source receives it instead
        let source = DispatchSource.makeSignalSource(signal: number)
        source.setEventHandler {
            Task {
                await session.end()
                exit(0)
            }
        }
        source.resume()
        return source
    }
}
// snippet.end
