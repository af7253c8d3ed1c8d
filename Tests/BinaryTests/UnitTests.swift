import Glibc
import TestSupport
import Testing

/// `unit`: what it says of a job, and installing.
@Suite struct UnitTests {
    private func binary() throws -> Binary {
        let binary = try Binary()
        try binary.folder.makeFolder("outside")
        try binary.folder.write(
            "my jobs/nightly 1%.yaml",
            """
            name: nightly
            secrets: { KEY: { file: key.txt } }
            tasks:
              - { id: a, url: "https://a.test/${env.RELEASE}", to: out/a, headers: { X-T: "${secret.TOKEN}${secret.KEY}" } }
              - { id: b, url: "https://a.test/b", to: ../outside/deep/b }
            """)
        return binary
    }

    @Test func theUnitsKnowWhatTheJobWrites() throws {
        let binary = try binary()
        let result = try binary.run("unit", "my jobs/nightly 1%.yaml", "--calendar", "Mon *-*-* 02:00", "--set", "x=1")
        #expect(result.exitStatus == 2 && result.errorText.contains("no variable `x`"))
        let unit = try binary.run("unit", "my jobs/nightly 1%.yaml", "--calendar", "Mon *-*-* 02:00")
        #expect(unit.exitStatus == 0 && unit.errorText.isEmpty, "\(unit.errorText)")
        let lines = unit.outputText.split(separator: "\n").map { String($0) }
        let folder = binary.folder.path
        #expect(
            lines.contains { $0.hasPrefix("ExecStart=/") && $0.contains("run \"\(folder)/my jobs/nightly 1%%.yaml\"") })
        #expect(lines.contains("WorkingDirectory=\(folder)/my jobs") && lines.contains("OnCalendar=Mon *-*-* 02:00"))
        #expect(
            lines.contains("ReadWritePaths=\"\(folder)/my jobs\"") && lines.contains("ReadWritePaths=\(folder)/outside")
        )
        #expect(lines.contains { $0.hasPrefix("LoadCredential=TOKEN:/") && $0.hasSuffix("/nightly/TOKEN") })
        #expect(lines.contains("LoadCredential=KEY:\(folder)/my jobs/key.txt"))
        #expect(lines.contains("#Environment=RELEASE=") && lines.contains("SuccessExitStatus=75 143"))
        #expect(try binary.run("unit", "-").exitStatus == 2 && binary.run("unit", "none.yaml").exitStatus == 2)
    }

    @Test func installedUnitsAreReplacedWhereTheyAreOurs() throws {
        let binary = try binary()
        let place = ["SYSTEMD_UNIT_PATH": binary.folder.path("units")]
        let installed = try binary.run("unit", "my jobs/nightly 1%.yaml", "--install", environment: place)
        #expect(installed.exitStatus == 0 && installed.outputText.isEmpty, "\(installed.errorText)")
        #expect(installed.errorText.contains("wrote `\(binary.folder.path("units"))/transfer-run-nightly.service`"))
        #expect(installed.errorText.contains("enable --now transfer-run-nightly.timer"))
        #expect(binary.folder.mode("units/transfer-run-nightly.timer") == 0o644)
        #expect(try binary.run("unit", "my jobs/nightly 1%.yaml", "--install", environment: place).exitStatus == 0)
        try binary.folder.write("units/transfer-run-nightly.service", "mine")
        let refused = try binary.run("unit", "my jobs/nightly 1%.yaml", "--install", environment: place)
        #expect(refused.exitStatus == 2 && refused.errorText.contains("was not written by this command"))
        #expect(try binary.folder.text("units/transfer-run-nightly.service") == "mine")
    }

    /// Without systemd on the machine, too: then nothing is in `PATH`.
    @Test(arguments: [[:], ["PATH": "/nowhere"]])
    func whatIsNoCalendarExpression_isRefused(_ environment: [String: String]) throws {
        let binary = try binary()
        for (text, hint) in [("every day", "write `daily`"), ("0 3 * * *", "cron's five fields")] {
            let refused = try binary.run(
                "unit", "my jobs/nightly 1%.yaml", "--calendar", text, environment: environment)
            #expect(refused.exitStatus == 2 && refused.outputText.isEmpty)
            #expect(refused.errorText.contains("`--calendar` cannot be `\(text)`"), "\(refused.errorText)")
            #expect(refused.errorText.contains(hint) && refused.errorText.contains("`*-*-* 03:00`"))
        }
        let taken = try binary.run(
            "unit", "my jobs/nightly 1%.yaml", "--calendar", "Mon..Fri 22:30", environment: environment)
        #expect(taken.exitStatus == 0, "\(taken.errorText)")
    }
}
