// Where the files of one app arrive: a directory that the daemon opens for the app's user. One that cannot be opened costs
// that app its files and nobody else anything, so it is told in the log and left out.

package import TandemBase
package import TandemFiles

/// Where the files of one app arrive.
package struct FileInbox {
    let inbox: AppInbox

    /// - Parameter owner: the app's user; nil is the daemon's own.
    package init(of directory: OwnedDirectory, owner: UInt32?) { inbox = AppInbox(of: directory, owner: owner) }

    /// The one of an app; nil, and a line in the log, if its directory cannot be opened.
    package init?(
        of app: ApplicationIdentifier, owner: UInt32?, log: LogHandler,
        directory: () throws(FileError) -> OwnedDirectory
    ) {
        do throws(FileError) { self.init(of: try directory(), owner: owner) } catch {
            log(
                LogEvent(
                    .error, "an app's directory cannot be used", .text("app", "\(app)"), .text("error", "\(error)")))
            return nil
        }
    }
}
