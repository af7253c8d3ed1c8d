import Glibc
import ServiceUnits
import TestSupport
import Testing

/// Units of systemd: goldens, what words become, and systemd's own opinion where it is installed.
struct ServiceUnitTests {
    private var system: ServiceUnit.Facts {
        var facts = ServiceUnit.Facts(
            name: UnitText.unitName("Nightly mirror: 100 %"), job: "Nightly mirror: 100 %",
            command: [
                "/usr/bin/transfer-run", "run", "/srv/my jobs/100%.yaml", "--set", "price=$5 \"net\" \\", "--state-dir",
                "/var/lib/transfer-run-nightly",
            ], folder: "/srv/my jobs")
        facts.calendar = "*-*-* 02:00"
        facts.writable = ["/srv/my jobs", "/srv/out 50%"]
        facts.stateDirectories = ["transfer-run-nightly"]
        facts.secretsFile = "/etc/transfer-run/nightly secrets"
        // systemd starts nothing where such a file is missing: what the file of secrets holds has no other.
        facts.secretsInFile = ["HELD"]
        facts.credentials = ["HELD", "API_TOKEN"].map {
            ServiceUnit.Credential(name: $0, path: "/etc/transfer-run/nightly/\($0)")
        }
        facts.environment = ["RELEASE"]
        facts.commands = ["./publish.sh '100 %'"]
        return facts
    }

    private var user: ServiceUnit.Facts {
        var facts = ServiceUnit.Facts(
            name: "transfer-run-photos", job: "photos",
            command: ["/usr/local/bin/transfer-run", "run", "/tmp/photos/job.yaml"], folder: "/tmp/photos")
        facts.account = .owner
        facts.writable = ["/home/me/.local/state/transfer-run", "/run/user/1000", "/tmp/photos"]
        return facts
    }

    private var named: ServiceUnit.Facts {
        var facts = system
        facts.account = .user("mirror")
        facts.onFailure = "alert@%n.service"
        facts.randomizedDelay = 900_000
        return facts
    }

    private var dynamic: ServiceUnit.Facts {
        var facts = ServiceUnit.Facts(
            name: "transfer-run-nightly", job: "nightly",
            command: [
                "/usr/bin/transfer-run", "run", "/etc/transfer-run/nightly.yaml", "--directory",
                "/var/lib/transfer-run-nightly-files", "--state-dir", "/var/lib/transfer-run-nightly",
            ], folder: "/var/lib/transfer-run-nightly-files")
        facts.account = .dynamic
        facts.stateDirectories = ["transfer-run-nightly", "transfer-run-nightly-files"]
        facts.secretsFile = "/root/100%.secrets"
        facts.randomizedDelay = 1500
        return facts
    }

    /// What stopping the unit means for the process of background sessions.
    @Test func backgroundProcessOutlivesAServiceButNotItsUser() {
        let expected: [(ServiceUnit.Facts, String, usesSocket: Bool)] = [
            (system, "process", false), (user, "process", true), (named, "process", false),
            (dynamic, "control-group", false),
        ]
        for (facts, mode, usesSocket) in expected {
            #expect(!ServiceUnit(facts).service.contains("KillMode="))
            var facts = facts
            facts.hasBackgroundSessions = true
            let lines = ServiceUnit(facts).service.split(separator: "\n", omittingEmptySubsequences: false)
            #expect(lines.contains { $0 == "KillMode=\(mode)" }, "\(lines)")
            #expect(lines.contains { $0 == "Wants=transfer-run.socket" } == usesSocket)
            // Each section is one block.
            #expect(zip(lines, lines.dropFirst()).allSatisfy { !($0 == "" && $1 == "") }, "\(lines)")
        }
    }

    /// The system's service has its state in a folder that no other command looks for.
    @Test func theCommandThatEndsTransfers_namesTheStateFolder() {
        for (facts, words) in [(system, " --state-dir /var/lib/x"), (user, "")] {
            var facts = facts
            facts.hasBackgroundSessions = true
            facts.command = ["/usr/bin/transfer-run", "j.yaml"] + (words.isEmpty ? [] : ["--state-dir", "/var/lib/x"])
            let line = "# transfers of one: transfer-run cancel IDENTIFIER\(words)"
            #expect(ServiceUnit(facts).service.split(separator: "\n").contains { $0 == line })
        }
    }

    @Test func unitsOfEveryAccount() throws {
        for (name, facts) in [("system", system), ("user", user), ("named", named), ("dynamic", dynamic)] {
            let unit = ServiceUnit(facts)
            try Snapshot.check(
                "# \(unit.serviceName)\n\(unit.service)\n# \(unit.timerName)\n\(unit.timer)", "Golden/\(name).txt")
        }
    }

    @Test(arguments: [
        ("plain/path-1.2_x", "plain/path-1.2_x"), ("", "\"\""), ("a b", "\"a b\""), ("100%", "\"100%%\""),
        ("$HOME", "\"$$HOME\""), ("say \"hi\"", "\"say \\\"hi\\\"\""), ("back\\slash", "\"back\\\\slash\""),
        ("a\nb", "\"a\\nb\""), ("'", "\"'\""), (";", "\";\""), ("é", "\"é\""), ("\u{1}", "\"\\x01\""), ("~", "\"~\""),
    ])
    func aWordStaysWhatItIs(_ word: String, _ written: String) {
        #expect(UnitText.commandWord(word) == written)
        // Lists of paths know no variables.
        if !word.contains("$") { #expect(UnitText.path(word) == written) }
    }

    @Test func namesAndLinesCannotBeginAnotherLine() {
        #expect(UnitText.unitName("ä b/../c\n") == "transfer-run-b-..-c")
        #expect(UnitText.unitName("...") == "transfer-run-job")
        #expect(UnitText.line("a\nExecStart=/bin/sh") == "a ExecStart=/bin/sh" && UnitText.line("x\\") == "x\\ ")
        var facts = system
        facts.job = "x\n[Service]\nExecStart=/bin/evil"
        facts.commands = ["a\nExecStart=/bin/evil"]
        let lines = ServiceUnit(facts).service.split(separator: "\n")
        #expect(lines.filter { $0.hasPrefix("ExecStart=") }.count == 1 && lines.filter { $0 == "[Service]" }.count == 1)
    }

    @Test(arguments: [
        ("alert.service", true), ("alert@%n.service", true), ("a\\x2db.target", true), ("alert", false),
        (".service", false), ("@x.service", false), ("a b.service", false), ("a.service\nExecStart=x", false),
        ("/bin/mail", false), ("", false),
    ])
    func unitOfAFailure_isAWholeName(_ text: String, _ isTaken: Bool) { #expect(UnitText.isUnit(text) == isTaken) }

    @Test func theAccountIsRootsToChoose() {
        func chosen(_ user: String?, _ isDynamic: Bool, root: Bool) -> Result<ServiceAccount, ServiceAccount.Problem> {
            ServiceAccount.chosen(user: user, isDynamic: isDynamic, isRoot: root)
        }
        #expect(chosen(nil, false, root: true) == .success(.root))
        #expect(chosen(nil, false, root: false) == .success(.owner))
        #expect(chosen("mirror", false, root: true) == .success(.user("mirror")))
        #expect(chosen("1000", false, root: true) == .success(.user("1000")))
        #expect(chosen(nil, true, root: true) == .success(.dynamic))
        #expect(chosen("mirror", true, root: true) == .failure(.both))
        #expect(chosen("mirror", false, root: false) == .failure(.needsRoot("--user")))
        #expect(chosen(nil, true, root: false) == .failure(.needsRoot("--dynamic-user")))
        for name in ["", "-x", ".x", "a b", "a\nUser=root", "%u", "ä", String(repeating: "a", count: 65)] {
            #expect(chosen(name, false, root: true) == .failure(.noName(name)))
        }
    }

    @Test func aDynamicUserReachesWhatIsOpenToAll() {
        let own = ["/var/lib/x", "/var/lib/x-files"]
        let paths = ["/var/lib/x-files", "/var/lib/x-files/a", "/var/lib/x/b", "/var/lib/x-filesystem", "/srv/a"]
        #expect(DynamicAccess.unwritable(paths, own: own) == ["/var/lib/x-filesystem", "/srv/a"])
        func obstacle(_ file: UInt32, _ folder: UInt32, isProgram: Bool = false) -> DynamicAccess.Obstacle? {
            let modes: [(path: String, mode: UInt32)] = [("/srv/a", file), ("/srv", folder), ("/", 0o755)]
            return DynamicAccess.obstacle("/srv/a", modes: modes, isProgram: isProgram)
        }
        #expect(obstacle(0o644, 0o711) == nil && obstacle(0o711, 0o711, isProgram: true) == nil)
        #expect(obstacle(0o640, 0o755) == .closed("/srv/a") && obstacle(0o711, 0o755) == .closed("/srv/a"))
        #expect(obstacle(0o644, 0o750) == .closed("/srv"))
        #expect(obstacle(0o644, 0o755, isProgram: true) == .closed("/srv/a"))
        #expect(DynamicAccess.obstacle("/tmp/a", modes: []) == .temporary)
    }

    @Test(.enabled(if: access("/usr/bin/systemd-analyze", X_OK) == 0)) func systemdTakesThem() throws {
        let binary = try Binary()
        let tree = binary.folder
        for facts in [system, user, named, dynamic] {
            var facts = facts
            facts.command[0] = "/usr/bin/env"
            let unit = ServiceUnit(facts)
            try tree.write(unit.serviceName, unit.service)
            try tree.write(unit.timerName, unit.timer)
            let script = "exec systemd-analyze verify --man=no ./\(unit.serviceName) ./\(unit.timerName)"
            let result = try binary.start([], under: ["/bin/sh", "-c", script]).wait()
            let own = result.errorText.split(separator: "\n").filter { $0.contains(facts.name) }
            #expect(own.isEmpty, "\(result.errorText)")
        }
    }

    @Test(arguments: [
        "daily", "Weekly", "Mon..Fri 22:30", "*-*-* 03:00", "Sat,Sun 20:00 Europe/Berlin", "*:0/15", "03-05",
        "Mon *-*-1..7 02:00:00 UTC", "*-*~1", "2026-12-31 23:59:59.5", "@1700000000", "monday",
    ])
    func calendarExpression_isTaken(_ text: String) { #expect(CalendarText.isPlausible(text)) }

    @Test(arguments: [
        "every day", "0 3 * * *", "03:00 *-*-*", "25:00", "*-13-01", "3am", "", "daily nightly weekly", "-",
    ])
    func whatIsNoCalendarExpression_isNotTaken(_ text: String) {
        #expect(!CalendarText.isPlausible(text))
        #expect(CalendarText.isCron(text) == (text == "0 3 * * *"))
    }
}
