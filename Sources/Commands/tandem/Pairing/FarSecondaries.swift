// `far-secondaries remove`: the end of a row of `status` about a device that no carrier states any longer.

import TandemBase
import TandemOperations
import TandemPropertyList
import TandemWire

extension Subcommand {
    static let farSecondariesRemove = Subcommand(
        path: ["far-secondaries", "remove"], summary: "remove the row of a far secondary that is gone",
        operands: [.required("DEVICE")], options: [.device, .yes, .json],
        notes: """
            DEVICE is its identifier, as 'tandem status' shows it with 'gone since'. First find out why it is gone: a
            gateway can hide a device that is still there. Lists what is removed and asks for confirmation.
            """,
        examples: ["far-secondaries remove 0123ABCD-0000-4000-8000-0123456789AB"]
    ) { arguments, console in
        let device = try UniqueIdentifier(
            argument: arguments.operands[0], "is not a device's UUID; 'tandem status' shows them")
        let body: PropertyListDictionary = ["device": .data(device.bytes)]
        let answer = try arguments.askTwice(.farRemove, body, console) { Consequences.forgetting($0) }
        if arguments.has("json") { return console.print(json: answer) }
        let names = answer.list("far").map(\.deviceName)
        console.print("removed \(names.joined(separator: ", "))")
    }
}
