import BackgroundService
import Diagnostics
import Glibc
import JobLoader
import Reporting
import ServiceUnits
import Stores
import SystemIO
import TransferModel

/// `unit JOB`: a systemd service and timer for a job, printed or installed.
struct UnitWriting {
    let options: CheckOptions
    let calendar: String?
    let installs: Bool
    let account: ServiceAccount
    let onFailure: String?
    let randomizedDelay: TimeSpan?
    let environment: [String: String]
    let console: Console

    /// Root's units are the system's.
    private var isUser: Bool { account == .owner }

    init(_ typed: TypedArguments, _ environment: [String: String], _ console: Console) throws(UsageError) {
        let meant = try MeantArguments(typed, environment: environment)
        options = try CheckOptions(typed, environment: environment)
        calendar = meant.value(.calendar)
        installs = meant.isSet(.install)
        account = try Self.account(meant)
        onFailure = meant.value(.onFailure)
        randomizedDelay = try Self.delay(meant)
        self.environment = environment
        self.console = console
        if let onFailure, !UnitText.isUnit(onFailure) {
            throw UsageError(
                "`--on-failure` cannot be `\(SafeText.line(onFailure))`: that is no unit of systemd",
                hint: "write its whole name, such as `alert.service` or `alert@%n.service`")
        }
        guard let calendar else { return }
        if calendar.unicodeScalars.contains(where: { $0.value < 0x20 || $0.value == 0x7F }) {
            throw UsageError("`--calendar` is one line, such as `--calendar '*-*-* 02:00'`")
        }
        guard Self.isCalendar(calendar) else {
            let right = "write `daily`, `Mon..Fri 22:30` or `*-*-* 03:00`; `man systemd.time` tells the rest"
            throw UsageError(
                "`--calendar` cannot be `\(SafeText.line(calendar))`: that is no calendar expression of systemd",
                hint: CalendarText.isCron(calendar) ? "cron's five fields are not taken: \(right)" : right)
        }
    }

    private static func account(_ meant: MeantArguments) throws(UsageError) -> ServiceAccount {
        let chosen = ServiceAccount.chosen(
            user: meant.value(.user), isDynamic: meant.isSet(.dynamicUser), isRoot: CurrentProcess.userID() == 0)
        switch chosen {
        case .success(let account): return account
        case .failure(.both):
            throw UsageError("`--user` and `--dynamic-user` exclude each other", hint: "keep one of them")
        case .failure(.needsRoot(let option)):
            throw UsageError(
                "`\(option)` is for a unit of the system, which only root writes",
                hint: "leave it out, and the unit runs as you; or write the unit as root")
        case .failure(.noName(let text)):
            throw UsageError("`--user` cannot be `\(SafeText.line(text))`: that is no user's name or number")
        }
    }

    private static func delay(_ meant: MeantArguments) throws(UsageError) -> TimeSpan? {
        guard let text = meant.value(.randomizedDelay) else { return nil }
        guard let delay = ValueText.duration(text), delay.nanoseconds >= 1_000_000, delay <= .seconds(365 * 86_400)
        else {
            throw UsageError(
                "`--randomized-delay` must be a duration up to 365d, such as `15m`, not `\(SafeText.line(text))`",
                hint: ValueText.durationHint(text))
        }
        return delay
    }

    /// Whether a timer takes the text: systemd says so where it is there, else the form does.
    private static func isCalendar(_ text: String) -> Bool {
        var command = Command(["systemd-analyze", "calendar", "--", text])
        command.timeout = .seconds(5)
        if let ending = try? command.run(limit: 64 << 10).result.ending {
            if ending == .exited(0) { return true }
            if ending == .exited(1) { return false }
        }
        return CalendarText.isPlausible(text)
    }

    func perform() throws(UsageError) -> Int32 {
        let path = options.arguments.jobs[0]
        if path == "-" { throw UsageError("a unit needs a job file: standard input is gone when it runs") }
        guard let (job, access) = try load(path, options.arguments) else { return ExitStatus.invalidInput.code }
        let facts: ServiceUnit.Facts
        if account == .dynamic {
            guard let found = try dynamicFacts(path, job) else { return ExitStatus.invalidInput.code }
            facts = found
        } else {
            facts = try self.facts(job, access, options.arguments, path, declaring: job)
        }
        warn(facts)
        let unit = ServiceUnit(facts)
        guard installs else {
            let folder = isUser ? "~/.config/systemd/user" : "/etc/systemd/system"
            console.output(
                "# \(folder)/\(unit.serviceName)\n\(unit.service)\n# \(folder)/\(unit.timerName)\n\(unit.timer)")
            return ExitStatus.succeeded.code
        }
        return try install(unit)
    }

    /// Loads the job as `check` does; `nil` after its errors were printed.
    private func load(
        _ path: String, _ arguments: JobArguments, printsWarnings: Bool = true
    ) throws(UsageError) -> (Job, JobAccess)? {
        let source = JobSource(
            arguments: arguments, environment: environment, isForRun: false, isForCheck: true, isForUnit: true)
        let result = try source.load(path).get().result
        // A secret has no value yet where its unit is written.
        let found = result.diagnostics.sorted().filter {
            $0.severity == .error || printsWarnings && $0.code != "missing-value"
        }
        if !found.isEmpty {
            let color = options.color.isOn(isTerminal: Terminal.isTerminal(2), environment: environment)
            console.errors(DiagnosticRenderer.text(found, color: color))
        }
        guard !result.diagnostics.hasErrors, let job = result.job, let access = result.access else { return nil }
        return (job, access)
    }

    private func absolute(_ path: String) throws(UsageError) -> String {
        if path.hasPrefix("/") { return path }
        guard let folder = try StrayBytes.workingFolder() else {
            throw UsageError("`\(path)` leads nowhere: the working folder is not there any more")
        }
        return "\(folder == "/" ? "" : folder)/\(path)"
    }

    // MARK: Facts

    /// What the unit is made of. `own` is the job as it is loaded from its own folder, which says where the files of its
    /// secrets are.
    private func facts(
        _ job: Job, _ access: JobAccess, _ arguments: JobArguments, _ path: String, declaring own: Job
    ) throws(UsageError) -> ServiceUnit.Facts {
        let name = UnitText.unitName(job.name)
        let state = try stateFolder()
        var facts = ServiceUnit.Facts(
            name: name, job: job.name,
            command: try command(absolute(path), arguments, state: isUser ? nil : "/var/lib/\(name)"),
            folder: job.baseDirectory)
        facts.account = account
        facts.stateDirectories = isUser ? [] : [name]
        if let file = arguments.secretsFile { facts.secretsFile = try absolute(file) }
        facts.secretsInFile = access.secretsInFile
        facts.onFailure = onFailure
        facts.randomizedDelay = randomizedDelay.map { $0.nanoseconds / 1_000_000 }
        if let calendar { facts.calendar = calendar }
        facts.hasBackgroundSessions = RunRecipe.concerns(job)
        facts.environment = access.names(.environment)
        facts.commands = access.names(.command)
        facts.sockets = access.names(.socket)
        facts.credentials = access.names(.secret).map { secret in
            ServiceUnit.Credential(name: secret, path: declared(secret, own) ?? "\(credentialFolder(name))/\(secret)")
        }
        facts.writable = UnitPlaces.folders(
            [job.baseDirectory + "/x"] + access.names(.write) + access.names(.remove) + state.map { $0 + "/x" })
        return facts
    }

    /// What the unit of a dynamic user is made of: the job's relative paths begin in a folder that systemd makes for it.
    /// `nil` after errors were printed.
    private func dynamicFacts(_ path: String, _ own: Job) throws(UsageError) -> ServiceUnit.Facts? {
        let name = UnitText.unitName(own.name)
        let files = name + "-files"
        var arguments = options.arguments
        if arguments.directory == nil { arguments.directory = "/var/lib/\(files)" }
        guard let (job, access) = try load(path, arguments, printsWarnings: false) else {
            let place = "`/var/lib/\(files)`"
            console.errors("  hint: with `--dynamic-user` relative paths begin in \(place): read by absolute ones\n")
            return nil
        }
        let written = [job.baseDirectory] + access.names(.write) + access.names(.remove)
        let folders = [name, files].map { "/var/lib/\($0)" }
        if let place = DynamicAccess.unwritable(written, own: folders).first {
            throw UsageError(
                "a dynamic user cannot write `\(SafeText.line(place))`, which is outside `\(folders[1])`",
                hint: "let the job write relative paths, or use `--user NAME`")
        }
        var facts = try self.facts(job, access, arguments, path, declaring: own)
        facts.folder = folders[1]
        facts.stateDirectories = [name, files]
        facts.writable = []
        return facts
    }

    /// Prints what of the account could surprise.
    private func warn(_ facts: ServiceUnit.Facts) {
        switch account {
        case .owner: break
        case .root:
            warn(
                "the service runs as root, and so does every command of the job",
                hint: "`--user NAME` or `--dynamic-user` gives it fewer rights")
        case .user(let name):
            guard let user = UnitReader(name) else {
                if name.utf8.allSatisfy({ (0x30...0x39).contains($0) }) { return }
                return warn("there is no user `\(name)` on this machine", hint: "`useradd --system \(name)` makes one")
            }
            for (number, path) in readFiles(facts).enumerated() {
                let modes = UnitPlaces.modes(path, for: user)
                guard let closed = DynamicAccess.closed(path, modes: modes, isProgram: number == 0) else { continue }
                warn(
                    "the user `\(name)` cannot read `\(path)`: `\(closed)` is not open to that user",
                    hint: "give `\(closed)` to that user or a group of theirs, or move the file, such as to "
                        + "/etc/transfer-run")
            }
        case .dynamic:
            for (number, path) in readFiles(facts).enumerated() {
                let modes = UnitPlaces.modes(path)
                switch DynamicAccess.obstacle(path, modes: modes, isProgram: number == 0) {
                case nil: break
                case .temporary:
                    warn("a dynamic user cannot see `\(path)`: it has a `/tmp` of its own", hint: "move the file")
                case .closed(let closed):
                    warn(
                        "a dynamic user cannot read `\(path)`: `\(closed)` is not open to other users",
                        hint: "`chmod o+rX '\(closed)'`, or move the file, such as to /etc/transfer-run")
                }
            }
        }
    }

    /// The files that the service reads itself: the program first.
    private func readFiles(_ facts: ServiceUnit.Facts) -> [String] {
        let files = [facts.command[0], facts.command[2]]
        guard let option = facts.command.firstIndex(of: "--variables-file") else { return files }
        return files + [facts.command[option + 1]]
    }

    private func warn(_ message: String, hint: String) {
        console.errors("warning: \(SafeText.line(message))\n  hint: \(SafeText.line(hint))\n")
    }

    private func declared(_ secret: String, _ job: Job) -> String? {
        job.reserved.first { $0.what == "the secret `\(secret)`" }?.path
    }

    private func credentialFolder(_ name: String) -> String {
        let stem = name.dropFirst("transfer-run-".count)
        guard isUser else { return "/etc/transfer-run/\(stem)" }
        return "\(configuration)/transfer-run/\(stem)"
    }

    private var configuration: String {
        if let folder = environment["XDG_CONFIG_HOME"], folder.hasPrefix("/") { return folder }
        return "\(environment["HOME"] ?? "")/.config"
    }

    /// Where a user's run keeps its state, as the user's own runs do; systemd makes the system's folder.
    private func stateFolder() throws(UsageError) -> [String] {
        guard isUser else { return [] }
        do throws(StateFolder.Problem) {
            let folder = try StateFolder(nil, environment)
            // A folder that is there can be let written by itself, without the one above.
            if installs { for path in [folder.state, folder.cache] { _ = try? PrivateFolder.make(path) } }
            return [folder.state, folder.cache, folder.runtime]
        } catch {
            throw UsageError(error.description)
        }
    }

    private func command(
        _ path: String, _ arguments: JobArguments, state: String?
    ) throws(UsageError) -> [String] {
        guard let program = Folders.resolved("/proc/self/exe")?.text else {
            throw UsageError("the path of this program is not known, which the unit needs")
        }
        var words = [program, "run", path]
        for variable in arguments.variables { words += ["--set", "\(variable.name)=\(variable.value)"] }
        if let file = arguments.variablesFile { words += ["--variables-file", try absolute(file)] }
        if let folder = arguments.directory { words += ["--directory", try absolute(folder)] }
        if let state { words += ["--state-dir", state] }
        return words
    }

    // MARK: Installing

    private func install(_ unit: ServiceUnit) throws(UsageError) -> Int32 {
        let folder = unitFolder
        do throws(SystemError) {
            _ = try Descriptor.makeFolder(folder)
        } catch {
            return console.failed("cannot make `\(folder)`: \(error.reason)")
        }
        for (name, text) in [(unit.serviceName, unit.service), (unit.timerName, unit.timer)] {
            let path = "\(folder)/\(name)"
            if let problem = refusal(path) { throw problem }
            do throws(SystemError) {
                try WholeFile.replacePrivately(path, with: Array(text.utf8))
                guard chmod(path, 0o644) == 0 else { throw SystemError(call: "chmod", errno: errno) }
            } catch {
                return console.failed("cannot write `\(path)`: \(error.reason)")
            }
            console.errors("wrote `\(path)`\n")
        }
        let manager = isUser ? "systemctl --user" : "systemctl"
        console.errors("Enable it: \(manager) daemon-reload && \(manager) enable --now \(unit.timerName)\n")
        return ExitStatus.succeeded.code
    }

    /// The folder of units: the first of `SYSTEMD_UNIT_PATH`, else the user's or the system's.
    private var unitFolder: String {
        let first = environment["SYSTEMD_UNIT_PATH"]?.split(separator: ":").first.map { String($0) }
        if let first, first.hasPrefix("/") { return first }
        return isUser ? "\(configuration)/systemd/user" : "/etc/systemd/system"
    }

    /// Why a file is not replaced: it was not written by this command.
    private func refusal(_ path: String) -> UsageError? {
        guard let bytes = try? WholeFile.read(path, limit: 1 << 20) else { return nil }
        if bytes.starts(with: ServiceUnit.heading.utf8) { return nil }
        return UsageError(
            "`\(path)` is there and was not written by this command",
            hint: "remove it, or print the units without `--install`")
    }
}

/// The user of a service, whose files and groups say what it may read.
struct UnitReader {
    private let id: UInt32
    private var groups: [UInt32]

    /// `nil` where the machine has no user of this name or number.
    init?(_ name: String) {
        guard let user = getpwnam(name) ?? UInt32(name).flatMap({ getpwuid($0) }) else { return nil }
        id = user.pointee.pw_uid
        groups = Array(repeating: 0, count: 1024)
        var count = Int32(groups.count)
        let group = user.pointee.pw_gid
        groups =
            getgrouplist(user.pointee.pw_name, group, &groups, &count) < 0
            ? [group] : Array(groups.prefix(Int(count)))
    }

    /// Returns the mode of a file, with this user's permissions in the last three bits.
    func mode(_ file: FileFacts) -> UInt32 {
        if id == 0 { return 0o777 }
        return file.owner == id ? file.mode >> 6 : groups.contains(file.group) ? file.mode >> 3 : file.mode
    }
}

/// Folders that a service must be let write.
enum UnitPlaces {
    /// Returns the deepest folders that exist above these paths, each once, without those that lie in another.
    static func folders(_ paths: [String]) -> [String] {
        var found: [String] = []
        for path in paths {
            let folder = deepest(known(path))
            if !found.contains(folder) { found.append(folder) }
        }
        return found.filter { folder in
            !found.contains { $0 != folder && (folder.hasPrefix($0 == "/" ? "/" : $0 + "/")) }
        }.sorted()
    }

    /// The part of a path before the first reference, which is known only in a run.
    private static func known(_ path: String) -> String {
        guard let mark = path.firstRange(of: "${") else { return path }
        return String(path[..<mark.lowerBound]) + "x"
    }

    /// Returns the permissions of a file and of each folder above it; what is not there is left out. With `user` the last
    /// three bits are those of that user.
    static func modes(_ path: String, for user: UnitReader? = nil) -> [(path: String, mode: UInt32)] {
        var found: [(path: String, mode: UInt32)] = []
        var path = path
        while true {
            if let facts = try? FileFacts.of(path) { found.append((path, user?.mode(facts) ?? facts.mode)) }
            if ["/", "."].contains(path) { return found }
            path = Folders.split(path).folder
        }
    }

    private static func deepest(_ path: String) -> String {
        var folder = Folders.split(path.hasSuffix("/") ? path + "x" : path).folder
        while folder != "/", (try? FileFacts.of(folder).isFolder) != true { folder = Folders.split(folder).folder }
        return folder
    }
}

extension CommandLineTool {
    /// `unit JOB`.
    static func unit(
        _ typed: TypedArguments, _ environment: [String: String], _ console: Console
    ) throws(UsageError) -> Int32 {
        try UnitWriting(typed, environment, console).perform()
    }
}
