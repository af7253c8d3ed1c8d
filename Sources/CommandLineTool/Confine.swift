import JobLoader
import Stores
import SystemIO

/// What `--confine` says of a job that is not trusted.
package struct Confine: Sendable {
    /// Written in the place of a folder: the run goes on although the kernel lacks one of the means.
    static let bestEffort = "best-effort"

    /// The folder as it was named, made absolute.
    let folder: String
    /// Whether the run goes on where the kernel lacks a means.
    let goesOnWithout: Bool
    /// What the loader holds the job's text to.
    let room: JobRoom

    /// Returns `nil` where the flag is not given; throws for a folder that is not there.
    init?(_ meant: MeantArguments) throws(UsageError) {
        let values = meant.list(.confine)
        let variables = meant.list(.allowEnv)
        let addresses = try meant.allowedAddresses()
        guard !values.isEmpty else {
            guard meant.isTyped(.allowEnv) else { return nil }
            throw UsageError(
                "`--allow-env` is for a confined job, and without `--confine` a job reads every variable",
                hint: "add `--confine DIR`")
        }
        goesOnWithout = values.contains(Self.bestEffort)
        let folders = values.filter { $0 != Self.bestEffort }
        guard let named = folders.first else {
            throw UsageError(
                "`--confine=best-effort` says how a job is confined, and not to which folder",
                hint: "add `--confine DIR`")
        }
        guard folders.count == 1 else {
            throw UsageError("a job is confined to one folder, not to `\(named)` and `\(folders[1])`")
        }
        if let wrong = variables.first(where: { $0.isEmpty || $0.utf8.contains(UInt8(ascii: "=")) }) {
            throw UsageError("`\(wrong)` is no name of a variable", hint: "write `--allow-env NAME`")
        }
        try WorkingFolder.check(named)
        let working = try StrayBytes.workingFolder() ?? "/"
        folder = JobRoom.absolute(named, in: working)
        guard let resolved = Folders.resolved(folder)?.text, (try? FileFacts.of(folder))?.isFolder == true else {
            throw UsageError("`--confine \(named)` names no folder that is there", hint: "make it first")
        }
        room = JobRoom(folder: folder, resolved: resolved, variables: Set(variables), addresses: addresses)
    }

    /// Throws for an output that would be written elsewhere. What is open already may be named: `/dev/stdout`.
    func check(_ output: OutputFile) throws(UsageError) {
        let path = JobRoom.absolute(output.path, in: try StrayBytes.workingFolder() ?? "/")
        guard !room.holds(path), !path.hasPrefix("/dev/"), !path.hasPrefix("/proc/self/fd/") else { return }
        let isReport = output.what == "the report"
        throw UsageError(
            "\(output.what) would be written to `\(path)`, which is not in `\(folder)`, to which this job is confined",
            hint: isReport ? "`--report PATH` writes it elsewhere, `--no-report` writes none" : nil)
    }

    /// Lets this process connect only to the ports that the jobs name, to those of the web, where redirects lead, and to
    /// that of name servers. A job with FTP needs whatever port a server says.
    func hold(toPortsOf jobs: [JobAccess]) throws(UsageError) {
        guard Confinement.holdsPorts, !jobs.contains(where: \.needsAnyPort) else { return }
        let ports = jobs.reduce(into: Set<UInt16>([80, 443, 53])) { $0.formUnion($1.ports) }
        do throws(Confinement.Problem) { try Confinement.hold(toPorts: ports) } catch {
            throw ConfinedProcess.words(error, self)
        }
    }

    /// The state folder of a confined job for which `--state-dir` names none: one of its own for each folder, so that a job
    /// that takes another one's name finds none of its cookies, credentials and answers.
    func stateDirectory(_ environment: [String: String]) -> String? {
        guard let folder = try? StateFolder(nil, environment) else { return nil }
        // Nothing but the name of a folder, so that 64 bits are enough.
        let sum = room.folder.utf8.reduce(UInt64(0xCBF2_9CE4_8422_2325)) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
        return "\(folder.state)/confined/\(String(sum, radix: 36))"
    }
}

/// Shuts the process of a command into the room of its job, before the job is read.
struct ConfinedProcess {
    /// What the command line says.
    let confine: Confine
    /// Variables of the command, some of which name files that it reads.
    let environment: [String: String]
    /// Where warnings go.
    let console: Console

    /// Enters the room. `reads` and `writes` are files that the command line names beside the job; `state` is where the run
    /// keeps what it remembers, `nil` for a command that keeps nothing.
    func enter(
        _ arguments: JobArguments, reads: [String?] = [], writes: [String?] = [], state: StateFolder?
    ) throws(UsageError) {
        let folders = state.map { [$0.state, $0.cache, $0.runtime] } ?? []
        for folder in folders {
            do throws(PrivacyProblem) { _ = try PrivateFolder.make(folder) } catch {
                throw UsageError("what runs remember cannot be kept: \(error)")
            }
        }
        let working = try StrayBytes.workingFolder() ?? "/"
        let named =
            arguments.jobs.filter { $0 != "-" } + [arguments.variablesFile, arguments.secretsFile].compactMap(\.self)
        let given = Self.readVariables.compactMap { environment[$0] }.filter { $0.hasPrefix("/") }
        let map = NetworkMapFile.path(environment)
        var room = Room(folder: confine.folder)
        room.reads =
            (named + reads.compactMap(\.self)).map { JobRoom.absolute($0, in: working) } + given
            + [map].compactMap(\.self)
        room.reads += (environment["LD_LIBRARY_PATH"] ?? "").split(separator: ":").map { String($0) }.filter {
            $0.hasPrefix("/")
        }
        if let program = Folders.resolved("/proc/self/exe")?.text { room.reads.append(Folders.split(program).folder) }
        room.writes = folders + writes.compactMap(\.self).filter { $0.hasPrefix("/") }
        do throws(Confinement.Problem) {
            try Confinement.enter(room, goesOnWithout: confine.goesOnWithout)
            if let missing = Confinement.room?.missing, !missing.isEmpty { console.errors(Self.warning(missing)) }
        } catch {
            throw Self.words(error, confine)
        }
    }

    /// Variables by which whoever starts the program names files that it reads.
    private static let readVariables = [
        "CREDENTIALS_DIRECTORY", "SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE", "OPENSSL_CONF", "TZDIR",
        "RES_OPTIONS",
    ]

    /// The warning about means that are missing.
    static func warning(_ missing: [Confinement.Means]) -> String {
        "warning: this job is confined by what there is: \(Self.list(missing)) \(missing.count == 1 ? "is" : "are") missing\n"
    }

    /// Returns why the process is not in its room, for people.
    static func words(_ problem: Confinement.Problem, _ confine: Confine) -> UsageError {
        switch problem {
        case .noFolder(let error):
            UsageError("`\(confine.folder)` cannot be opened: \(error.reason)")
        case .lacks(let missing):
            UsageError(
                "this system cannot confine a job: \(Self.list(missing)) \(missing.count == 1 ? "is" : "are") missing",
                hint: "`--confine=best-effort` beside it goes on with what there is")
        case .failed(let means, let error):
            UsageError("a job cannot be confined: \(means.words) failed: \(error.reason)")
        }
    }

    /// Names means in a sentence.
    private static func list(_ means: [Confinement.Means]) -> String { means.map(\.words).joined(separator: " and ") }
}
