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
        facts.stateDirectory = "transfer-run-nightly"
        facts.credentials = [ServiceUnit.Credential(name: "API_TOKEN", path: "/etc/transfer-run/nightly/API_TOKEN")]
        facts.environment = ["RELEASE"]
        facts.commands = ["./publish.sh '100 %'"]
        return facts
    }

    private var user: ServiceUnit.Facts {
        var facts = ServiceUnit.Facts(
            name: "transfer-run-photos", job: "photos",
            command: ["/usr/local/bin/transfer-run", "run", "/tmp/photos/job.yaml"], folder: "/tmp/photos")
        facts.isUser = true
        facts.writable = ["/home/me/.local/state/transfer-run", "/run/user/1000", "/tmp/photos"]
        return facts
    }

    @Test func unitsOfTheSystemAndOfAUser() throws {
        for (name, facts) in [("system", system), ("user", user)] {
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

    @Test(.enabled(if: access("/usr/bin/systemd-analyze", X_OK) == 0)) func systemdTakesThem() throws {
        let binary = try Binary()
        let tree = binary.folder
        for facts in [system, user] {
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
