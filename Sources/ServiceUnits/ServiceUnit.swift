/// A systemd service that runs a job, and the timer that starts it. Pure: it is text made of what is known of the job.
package struct ServiceUnit: Sendable {
    /// A secret and the file that systemd reads it from.
    package struct Credential: Hashable, Sendable {
        /// Name of the secret in the job.
        package let name: String
        /// Absolute path of the file that holds it.
        package let path: String
        package init(name: String, path: String) {
            self.name = name
            self.path = path
        }
    }

    /// What the unit is made of.
    package struct Facts: Sendable {
        /// Name of both units without their ending.
        package var name: String
        /// Name of the job, for people.
        package var job: String
        /// The program and its arguments, with absolute paths.
        package var command: [String]
        /// Absolute folder in which the program starts.
        package var folder: String
        /// When the timer starts the job, as `OnCalendar` takes it.
        package var calendar = "daily"
        /// Spread of the start after the calendar's time, in milliseconds; `nil` without one.
        package var randomizedDelay: Int64?
        /// Unit that systemd starts when the job fails; specifiers such as `%n` are systemd's. `nil` without one.
        package var onFailure: String?
        /// The account that the service runs as.
        package var account = ServiceAccount.root
        /// Absolute folders that exist and that the job writes below.
        package var writable: [String] = []
        /// Names of the folders below /var/lib that systemd makes for the service; none for a user's unit.
        package var stateDirectories: [String] = []
        /// Absolute path of the file that `--secrets-file` names; `nil` without one.
        package var secretsFile: String?
        /// Names of the secrets in that file: no other file is looked for.
        package var secretsInFile: Set<String> = []
        /// The secrets that the job uses.
        package var credentials: [Credential] = []
        /// Variables of the environment that the job uses.
        package var environment: [String] = []
        /// Commands that the job runs.
        package var commands: [String] = []
        /// Whether tasks of the job are in background sessions.
        package var hasBackgroundSessions = false
        /// Unix sockets that the job asks.
        package var sockets: [String] = []

        package init(name: String, job: String, command: [String], folder: String) {
            self.name = name
            self.job = job
            self.command = command
            self.folder = folder
        }
    }

    /// The first line of both files, by which an earlier version is known.
    package static let heading = "# Written by `transfer-run unit`."

    private let facts: Facts

    package init(_ facts: Facts) { self.facts = facts }

    /// `transfer-run-nightly.service`.
    package var serviceName: String { facts.name + ".service" }
    /// `transfer-run-nightly.timer`.
    package var timerName: String { facts.name + ".timer" }

    /// Text of the service.
    package var service: String {
        let parts = [unit, run, credentials, access, hardening].filter { !$0.isEmpty }
        return Self.heading + "\n\n" + parts.joined(separator: "\n")
    }

    /// Text of the timer.
    package var timer: String {
        """
        \(Self.heading)

        [Unit]
        Description=Starts \(serviceName)

        [Timer]
        OnCalendar=\(UnitText.specifiersEscaped(facts.calendar))
        # Started as soon as possible where the machine was off at that time.
        Persistent=true
        \(delay)
        [Install]
        WantedBy=timers.target

        """
    }

    private var delay: String {
        guard let milliseconds = facts.randomizedDelay else { return "" }
        let span = milliseconds % 1000 == 0 ? "\(milliseconds / 1000)s" : "\(milliseconds)ms"
        return "# Up to this much later, so that many machines do not ask at once.\nRandomizedDelaySec=\(span)\n"
    }

    // MARK: Sections

    private var unit: String {
        let description = "Transfers of \(facts.job)"
        var text = "[Unit]\nDescription=\(UnitText.line(description))\n"
        // A user's manager has no such target.
        if facts.account != .owner { text += "Wants=network-online.target\nAfter=network-online.target\n" }
        if let unit = facts.onFailure { text += "OnFailure=\(unit)\n" }
        if facts.account == .owner, facts.hasBackgroundSessions {
            text += """
                # Where this socket is installed, the background process is a service of its own.
                Wants=transfer-run.socket
                After=transfer-run.socket

                """
        }
        return text
    }

    private var run: String {
        """
        [Service]
        Type=oneshot
        \(account)ExecStart=\(command)
        WorkingDirectory=\(UnitText.specifiersEscaped(facts.folder))
        # 75: incomplete, the next run goes on. 143: stopped, with its report written.
        SuccessExitStatus=75 143
        TimeoutStopSec=2min
        \(background)
        """
    }

    /// Which processes end with the service. systemd ends all of them where the unit says nothing.
    private var background: String {
        guard facts.hasBackgroundSessions else { return "" }
        // systemd may give the user's number to another service once this one has ended.
        if facts.account == .dynamic {
            return """
                # The process of the background sessions ends with the service, as its user does. The next start goes on.
                KillMode=control-group

                """
        }
        return """
            # The process of the background sessions outlives this service, and goes on when it is stopped. This ends the
            # transfers of one: transfer-run cancel IDENTIFIER\(state)
            KillMode=process

            """
    }

    /// The option by which other commands find the state of the system's service; a user's own find it without.
    private var state: String {
        guard let place = facts.command.firstIndex(of: "--state-dir"), facts.command.indices.contains(place + 1) else {
            return ""
        }
        return " --state-dir \(UnitText.line(facts.command[place + 1], escapes: false))"
    }

    private var account: String {
        switch facts.account {
        case .owner: ""
        case .root:
            """
            # Runs as root, and so does every command of the job. `--user NAME` or `--dynamic-user` of `transfer-run unit`
            # gives it fewer rights.

            """
        case .user(let name):
            """
            # This user must be able to read the job file and to write in each folder of ReadWritePaths= below.
            User=\(name)

            """
        case .dynamic:
            """
            # A user that exists only while the job runs. It can write nowhere but in the folders of StateDirectory= below.
            DynamicUser=yes

            """
        }
    }

    private var command: String {
        var words = facts.command.map { UnitText.commandWord($0) }
        if let file = facts.secretsFile {
            words += [
                "--secrets-file", hasSecretsCredential ? "%d/\(Self.secretsCredential)" : UnitText.commandWord(file),
            ]
        }
        return words.joined(separator: " ")
    }

    /// The credential that holds the file of `--secrets-file`. The name of a secret has no full stop.
    private static let secretsCredential = "secrets.file"

    /// Whether systemd reads the file of `--secrets-file` for a service that may not read it itself.
    private var hasSecretsCredential: Bool {
        switch facts.account {
        case .owner, .root: false
        case .user, .dynamic: facts.secretsFile != nil
        }
    }

    private var credentials: String {
        var text = ""
        if hasSecretsCredential, let file = facts.secretsFile {
            text += "# systemd reads this file and hands it to the job.\n"
            text += "LoadCredential=\(Self.secretsCredential):\(UnitText.specifiersEscaped(file))\n"
        }
        let own = facts.credentials.filter { !facts.secretsInFile.contains($0.name) }
        if !own.isEmpty {
            text += "# Each file holds one secret, readable for its owner alone. `systemd-creds encrypt` and\n"
            text += "# LoadCredentialEncrypted= keep them encrypted.\n"
            for credential in own {
                text += "LoadCredential=\(credential.name):\(UnitText.specifiersEscaped(credential.path))\n"
            }
        }
        if !facts.environment.isEmpty {
            text += "# Variables that the job uses; remove the mark and give them a value.\n"
            for name in facts.environment { text += "#Environment=\(name)=\n" }
        }
        return text
    }

    private var access: String {
        var text = "# What the job writes, as `transfer-run check --explain-access` lists it, and the rest read-only.\n"
        text += "ProtectSystem=strict\nProtectHome=read-only\n"
        if !facts.stateDirectories.isEmpty {
            text += "StateDirectory=\(facts.stateDirectories.joined(separator: " "))\nStateDirectoryMode=0700\n"
        }
        for path in facts.writable { text += "ReadWritePaths=\(UnitText.path(path))\n" }
        if !facts.commands.isEmpty {
            text += "# The job runs commands: add a line for each folder that they write in.\n"
            for command in facts.commands { text += "#   \(UnitText.line(command, escapes: false))\n" }
        }
        // A private folder would hide what the job has there.
        let usesTemporary = (facts.writable + facts.command + facts.sockets).contains { UnitText.isTemporary($0) }
        return text + (usesTemporary ? "" : "PrivateTmp=yes\n")
    }

    private var hardening: String {
        // Without it a user's manager may not set up the rest.
        (facts.account == .owner ? "PrivateUsers=yes\n" : "")
            + """
            NoNewPrivileges=yes
            PrivateDevices=yes
            ProtectClock=yes
            ProtectControlGroups=yes
            ProtectHostname=yes
            ProtectKernelLogs=yes
            ProtectKernelModules=yes
            ProtectKernelTunables=yes
            LockPersonality=yes
            RestrictNamespaces=yes
            RestrictRealtime=yes
            RestrictSUIDSGID=yes
            SystemCallArchitectures=native
            RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK

            """
    }
}

/// Text in unit files, which systemd reads word by word.
package enum UnitText {
    /// Escapes `%`, which begins a specifier, and control characters, which could begin another line.
    package static func specifiersEscaped(_ text: String) -> String { line(text) }

    /// The text on one line. With `escapes`, `%` stays a percent sign.
    package static func line(_ text: String, escapes: Bool = true) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "%" where escapes: result += "%%"
            default:
                let isControl = scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value)
                if isControl { result += " " } else { result.unicodeScalars.append(scalar) }
            }
        }
        // A backslash at the end would join the next line.
        return result.hasSuffix("\\") ? result + " " : result
    }

    /// A word of `ExecStart`: quoted where needed, with `$` and `%` as themselves.
    package static func commandWord(_ word: String) -> String { quoted(word, dollars: true) }

    /// A path in a list of paths.
    package static func path(_ path: String) -> String { quoted(path, dollars: false) }

    private static func quoted(_ word: String, dollars: Bool) -> String {
        let isPlain =
            !word.isEmpty
            && word.utf8.allSatisfy { isAlphanumeric($0) || "/._:=@+,-".utf8.contains($0) }
        if isPlain { return word }
        var result = ""
        for scalar in word.unicodeScalars {
            switch scalar {
            case "%": result += "%%"
            case "$" where dollars: result += "$$"
            case "\"", "\\": result += "\\\(scalar)"
            case "\n": result += "\\n"
            case "\t": result += "\\t"
            default:
                if scalar.value < 0x20 || scalar.value == 0x7F {
                    let hex = String(scalar.value, radix: 16)
                    result += "\\x" + String(repeating: "0", count: 2 - hex.count) + hex
                } else {
                    result.unicodeScalars.append(scalar)
                }
            }
        }
        return "\"\(result)\""
    }

    /// Whether a path lies in a folder for temporary files.
    package static func isTemporary(_ path: String) -> Bool {
        ["/tmp", "/var/tmp"].contains { path == $0 || path.hasPrefix($0 + "/") }
    }

    /// Whether the text is the full name of a unit. Specifiers of systemd such as `%n` may be in it.
    package static func isUnit(_ text: String) -> Bool {
        let kinds = [".service", ".target", ".socket", ".path", ".timer", ".mount", ".slice"]
        guard text.utf8.count <= 255, let kind = kinds.first(where: { text.hasSuffix($0) }) else { return false }
        let name = text.dropLast(kind.count)
        return !name.isEmpty && name.first != "@"
            && name.utf8.allSatisfy { isAlphanumeric($0) || ":-_.\\@%".utf8.contains($0) }
    }

    static func isAlphanumeric(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: false
        }
    }

    /// A name of units for a job: letters, digits, `-`, `_` and `.`.
    package static func unitName(_ job: String) -> String {
        var name = ""
        for scalar in job.unicodeScalars {
            let isGood = scalar.isASCII && (scalar.properties.isAlphabetic || ("0"..."9").contains(scalar))
            if isGood || "-_.".unicodeScalars.contains(scalar) {
                name.unicodeScalars.append(scalar)
            } else if name.last != "-" {
                name += "-"
            }
        }
        while name.last == "-" || name.last == "." { name.removeLast() }
        while name.first == "-" || name.first == "." { name.removeFirst() }
        return "transfer-run-" + (name.isEmpty ? "job" : String(name.prefix(100)))
    }
}
