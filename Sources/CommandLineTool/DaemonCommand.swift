import BackgroundService
import Reporting
package import Stores
import SystemIO
import TransferModel

/// The options of `daemon`.
package struct DaemonOptions: Sendable {
    /// Folder of the background runs' state and sockets.
    package var folder: StateFolder

    package init(_ typed: TypedArguments, environment: [String: String]) throws(UsageError) {
        let meant = try MeantArguments(typed, environment: environment)
        folder = try StateFolder.needed(meant.value(.stateDir), environment)
    }
}

extension CommandLineTool {
    /// Runs the background process until it ends. When another one is already running, that counts as success.
    static func daemon(_ options: DaemonOptions, _ environment: [String: String], _ console: Console) -> Int32 {
        Signals.hold()
        Memory.shareHeaps(4)
        var tools = HostTools(
            folder: options.folder, version: version, runner: RunnerFacts.here,
            dictate: { try? DictatedNetwork($0).interfaces })
        switch NetworkMapFile.load(environment, color: false) {
        case .success(let map): tools.networks = map
        case .failure(let problem):
            console.errors(problem.text)
            return ExitStatus.invalidInput.code
        }
        do throws(ServiceTrouble) {
            let process = ServiceProcess(ServicePlace(options.folder), version: version, environment: environment)
            switch try process.run(BackgroundHost(tools)) {
            case .ended(.failed): return ExitStatus.runnerFailed.code
            case .ended: return ExitStatus.succeeded.code
            case .alreadyThere(let holder):
                ServiceLog.write("another is there already\(holder.map { " (pid \($0))" } ?? "")")
                return ExitStatus.succeeded.code
            }
        } catch {
            ServiceLog.write("error: \(error)")
            return ExitStatus.runnerFailed.code
        }
    }
}
