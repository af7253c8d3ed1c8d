package import Reporting
package import Stores
package import TransferModel

/// What a host must be told of the program and the machine it works for.
package struct HostTools: Sendable {
    package var folder: StateFolder
    /// Of the program.
    package var version: String
    package var runner: RunnerFacts
    /// The operator's word on this machine's networks.
    package var networks = NetworkMap()
    /// What `--network` comes to, as it was typed.
    package var dictate: @Sendable (String) -> [NetworkInterface]?
    package var log: @Sendable (String) -> Void = ServiceLog.write

    package init(
        folder: StateFolder, version: String, runner: RunnerFacts,
        dictate: @escaping @Sendable (String) -> [NetworkInterface]?
    ) {
        self.folder = folder
        self.version = version
        self.runner = runner
        self.dictate = dictate
    }
}
