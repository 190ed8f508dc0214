// Message hook of a typed configuration by Apple's types, for an app whose delegate asks first whether a message is a
// configuration.

public import PairedConfiguration
import TandemPropertyList

extension Configuration {
    /// Takes a message if it is a configuration for this app (Protocol/SignedConfiguration.md CFG-41); Appfigurate's
    /// `APLSessionDidReceiveMessage`. An app needs no call for a configuration that is installed
    /// (`WCSession.install(_:)`): its delegate sees none. Call `load(application:role:directory:)` first.
    /// - Returns: what to give to the reply handler; nil if the message is not ours and the app handles it itself.
    public func sessionDidReceiveMessage(_ message: [String: Any]) -> [String: Any]? {
        guard let message = try? PropertyListDictionary(foundation: message) else { return nil }
        let reply: PropertyListDictionary? = sessionDidReceiveMessage(message)
        return reply?.foundationValue
    }
}
