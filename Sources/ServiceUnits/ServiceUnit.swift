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
        /// Whether the units are a user's own, not the system's.
        package var isUser = false
        /// Absolute folders that exist and that the job writes below.
        package var writable: [String] = []
        /// Name of the folder below /var/lib that systemd makes for the run's state; `nil` for a user's unit.
        package var stateDirectory: String?
        /// The secrets that the job uses.
        package var credentials: [Credential] = []
        /// Variables of the environment that the job uses.
        package var environment: [String] = []
        /// Commands that the job runs.
        package var commands: [String] = []
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

        [Install]
        WantedBy=timers.target

        """
    }

    // MARK: Sections

    private var unit: String {
        let description = "Transfers of \(facts.job)"
        var text = "[Unit]\nDescription=\(UnitText.line(description))\n"
        // A user's manager has no such target.
        if !facts.isUser { text += "Wants=network-online.target\nAfter=network-online.target\n" }
        return text
    }

    private var run: String {
        """
        [Service]
        Type=oneshot
        ExecStart=\(facts.command.map { UnitText.commandWord($0) }.joined(separator: " "))
        WorkingDirectory=\(UnitText.specifiersEscaped(facts.folder))
        # 75: incomplete, the next run goes on. 143: stopped, with its report written.
        SuccessExitStatus=75 143
        TimeoutStopSec=2min

        """
    }

    private var credentials: String {
        var text = ""
        if !facts.credentials.isEmpty {
            text += "# Each file holds one secret, readable for its owner alone. `systemd-creds encrypt` and\n"
            text += "# LoadCredentialEncrypted= keep them encrypted.\n"
            for credential in facts.credentials {
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
        if let folder = facts.stateDirectory { text += "StateDirectory=\(folder)\nStateDirectoryMode=0700\n" }
        for path in facts.writable { text += "ReadWritePaths=\(UnitText.path(path))\n" }
        if !facts.commands.isEmpty {
            text += "# The job runs commands: add a line for each folder that they write in.\n"
            for command in facts.commands { text += "#   \(UnitText.line(command, escapes: false))\n" }
        }
        // A private folder would hide what the job has there.
        let usesTemporary = (facts.writable + facts.command + facts.sockets).contains { path in
            ["/tmp", "/var/tmp"].contains { path == $0 || path.hasPrefix($0 + "/") }
        }
        return text + (usesTemporary ? "" : "PrivateTmp=yes\n")
    }

    private var hardening: String {
        // Without it a user's manager may not set up the rest.
        (facts.isUser ? "PrivateUsers=yes\n" : "")
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
            && word.utf8.allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
                default: "/._:=@+,-".utf8.contains(byte)
                }
            }
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
