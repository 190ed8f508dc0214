// Entry point: argument -> subcommand -> exit code. It opens no socket, and no file but `/dev/null` where a standard
// descriptor is missing.

import Glibc
import PairedSession
import TandemBase
import TandemControl
import TandemOperations
import TandemReactor

@main enum Main {
    static func main() async {
        // There may be no standard error to say it on: only an exit code is left.
        do {
            if try Linux.fillUsualDescriptors().contains(STDOUT_FILENO) { Console.noteMissingOutput() }
        } catch { exit(1) }
        let console = Console()
        // `CommandLine.arguments` has replaced bytes that are not UTF-8.
        if let index = indexOfMalformedArgument {
            exit(report(.usage("argument \(index) is not UTF-8 text"), [], console))
        }
        let code = await run(Array(CommandLine.arguments.dropFirst()), on: console)
        if code == 0, let failure = Console.failure { exit(report(failure, [], console)) }
        exit(code)
    }

    private static var indexOfMalformedArgument: Int? {
        (1..<max(1, Int(CommandLine.argc))).first { index in
            CommandLine.unsafeArgv[index].map { String(validatingCString: $0) == nil } ?? false
        }
    }

    /// Runs the command line and returns its exit code.
    static func run(_ arguments: [String], on console: Console) async -> Int32 {
        do {
            if try answersWithoutCommand(arguments, console) { return 0 }
            let (subcommand, rest) = try Subcommand.find(arguments)
            if OptionParser.asksForHelp(rest) {
                console.write(Help.page(of: subcommand))
                return 0
            }
            try await perform(subcommand, try OptionParser(subcommand: subcommand).parse(rest), console)
            return 0
        } catch let failure as CommandFailure {
            return report(failure, arguments, console)
        } catch let failure as ControlError {
            return report(CommandFailure(failure), arguments, console)
        } catch let mistakes as OptionMistakes {
            return report(mistakes.failure, arguments, console)
        } catch let error as IdentifierError {
            return report(.usage("\(error)"), arguments, console)
        } catch {
            return report(.refused("\(error)"), arguments, console)
        }
    }

    /// Runs the subcommand; what the daemon refuses is printed for programs, too.
    private static func perform(_ subcommand: Subcommand, _ arguments: Arguments, _ console: Console) async throws {
        do { try await subcommand.run(arguments, console) } catch let error as ControlError {
            arguments.printForPrograms(error, on: console)
            throw error
        } catch let error as SessionError where error.isNamed(.noDaemon) {
            throw CommandFailure.unanswered("\(error)", at: sockets(arguments))
        }
    }

    private static func sockets(_ arguments: Arguments) -> [String] {
        do { return [try arguments.daemonPath()] } catch CommandFailure.unanswered(_, let sockets) {
            return sockets
        } catch {
            return []
        }
    }

    /// Help and version, which belong to no subcommand.
    private static func answersWithoutCommand(_ arguments: [String], _ console: Console) throws(CommandFailure) -> Bool
    {
        switch arguments.first {
        case nil: throw .usage("a command is missing")
        case "--version"?: console.print(Version.text)
        case "--help"?, "-h"?: console.write(Help.overview)
        case "help"? where arguments.count == 1: console.write(Help.overview)
        case "help"?:
            console.write(Help.page(of: try Subcommand.find(Array(arguments.dropFirst())).0))
        case let first? where OptionParser.asksForHelp(arguments.dropFirst()) && !hasCommand(arguments):
            guard let pages = Help.family(first) else { return false }
            console.write(pages)
        default: return false
        }
        return true
    }

    private static func hasCommand(_ arguments: [String]) -> Bool { (try? Subcommand.find(arguments)) != nil }

    private static func report(_ failure: CommandFailure, _ arguments: [String], _ console: Console) -> Int32 {
        let subcommand = (try? Subcommand.find(arguments))?.0
        var text =
            switch failure {
            case .no, .misconfigured: failure.text
            default: "tandem: \(failure.text)"
            }
        if case .usage = failure {
            let family = arguments.first.flatMap { Help.family($0) == nil ? nil : $0 }
            let name = subcommand?.name ?? family
            text += "\nTry: tandem \(name.map { $0 + " " } ?? "")--help"
        }
        if let advice = failure.advice { text += "\n" + advice }
        let mark = subcommand?.isService == true ? ServiceRun.failureMark : ""
        for line in text.split(separator: "\n") { console.warn("\(mark)\(line)") }
        return failure.exitCode
    }
}

enum Version {
    static let text = "tandem " + PairedSession.version + BuildCommit.suffix
}
