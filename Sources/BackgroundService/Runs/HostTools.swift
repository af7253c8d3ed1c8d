package import Reporting
package import Stores
package import TransferModel

/// What a host needs to know about the program and the machine.
package struct HostTools: Sendable {
    /// The state folder, which has the journal.
    package var folder: StateFolder
    /// The program's version, for the user agent.
    package var version: String
    /// The program and host as reports name them.
    package var runner: RunnerFacts
    /// Most runs that start tasks at the same time; the others wait for their turn, in the order of acceptance. A
    /// low limit of descriptors lowers it.
    package var runsAtOnce = 16
    /// The operator's settings for this machine's networks.
    package var networks = NetworkMap()
    /// Returns the network interfaces for the text given with `--network`; `nil` if the text means none.
    package var dictate: @Sendable (String) -> [NetworkInterface]?
    /// Receives a line for each thing that the log should tell.
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
