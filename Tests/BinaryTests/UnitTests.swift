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
        #expect(unit.exitStatus == 0, "\(unit.errorText)")
        // Root is told so.
        #expect(unit.errorText.isEmpty == (geteuid() != 0), "\(unit.errorText)")
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
        try binary.folder.write("own.env", "TOKEN=something-secret\n", mode: 0o600)
        let held = try binary.run("unit", "my jobs/nightly 1%.yaml", "--secrets-file", "own.env").outputText
        #expect(held.contains("LoadCredential=KEY:") && !held.contains("LoadCredential=TOKEN:"), "\(held)")
        #expect(lines.contains("#Environment=RELEASE=") && lines.contains("SuccessExitStatus=75 143"))
        #expect(try binary.run("unit", "-").exitStatus == 2 && binary.run("unit", "none.yaml").exitStatus == 2)
    }

    /// The service's reports go where its working folder is, wherever the unit was typed.
    @Test func aRelativeReportIsWrittenBesideTheJob() throws {
        let binary = try Binary()
        try binary.folder.write(
            "jobs/n.yaml", "report: { html: html/n.html }\ntasks: [{ id: a, url: \"https://a.test/a\", to: out/a }]\n")
        let other = try Binary()
        for options in [[], ["--user", "nobody"], ["--dynamic-user"]] where options.isEmpty || geteuid() == 0 {
            let unit = try other.run(arguments: ["unit", "\(binary.folder.path)/jobs/n.yaml"] + options)
            #expect(unit.exitStatus == 0, "\(unit.errorText)")
            let writable = unit.outputText.split(separator: "\n").filter { $0.hasPrefix("ReadWritePaths=") }
            let isDynamic = options == ["--dynamic-user"]
            #expect(writable == (isDynamic ? [] : ["ReadWritePaths=\(binary.folder.path)/jobs"]), "\(writable)")
        }
    }

    @Test func theAccountIsSaid_andRootChoosesIt() throws {
        let binary = try binary()
        let (job, isRoot) = ("my jobs/nightly 1%.yaml", geteuid() == 0)
        let plain = try binary.run("unit", job)
        #expect(plain.errorText.hasPrefix("warning: the service runs as root") == isRoot, "\(plain.errorText)")
        #expect(plain.outputText.contains("# Runs as root") == isRoot)
        let named = try binary.run(
            "unit", job, "--user", "nobody", "--on-failure", "alert@%n.service", "--randomized-delay", "15m")
        guard isRoot else {
            #expect(named.exitStatus == 2 && named.errorText.contains("`--user` is for a unit of the system"))
            return
        }
        #expect(named.exitStatus == 0, "\(named.errorText)")
        // The user must get to the job file, but need not list its folder.
        try binary.folder.setMode("my jobs", 0o711)
        let readable = try binary.run("unit", job, "--user", "nobody").errorText
        #expect(!readable.contains("`\(binary.folder.path)/my jobs` is not open"), "\(readable)")
        try binary.folder.setMode("my jobs", 0o700)
        let closed = try binary.run("unit", job, "--user", "nobody").errorText
        let path = "\(binary.folder.path)/\(job)"
        #expect(closed.contains("warning: the user `nobody` cannot read `\(path)`: `"), "\(closed)")
        #expect(try !binary.run("unit", job, "--user", "root").errorText.contains("cannot read"))
        let lines = named.outputText.split(separator: "\n")
        for line in ["User=nobody", "OnFailure=alert@%n.service", "RandomizedDelaySec=900s"] {
            #expect(lines.contains { $0 == line }, "\(line)")
        }
        // This job writes beside its folder, where a dynamic user cannot.
        let refused = try binary.run("unit", job, "--dynamic-user")
        #expect(refused.exitStatus == 2 && refused.outputText.isEmpty)
        #expect(refused.errorText.contains("a dynamic user cannot write `/var/lib/"), "\(refused.errorText)")
        try binary.folder.write(
            "own.yaml",
            """
            secrets: { KEY: { file: key.txt } }
            tasks: [{ id: a, url: "https://a.test/a", to: out/a, headers: { X-T: "${secret.KEY}" } }]
            """)
        let dynamic = try binary.run("unit", "own.yaml", "--dynamic-user")
        #expect(dynamic.exitStatus == 0, "\(dynamic.errorText)")
        for line in [
            "DynamicUser=yes", "WorkingDirectory=/var/lib/transfer-run-own-files",
            "LoadCredential=KEY:\(binary.folder.path)/key.txt",
        ] { #expect(dynamic.outputText.split(separator: "\n").contains { $0 == line }, "\(line)") }
        #expect(!dynamic.outputText.contains("ReadWritePaths=") && !dynamic.outputText.contains("# Runs as root"))
    }

    @Test(arguments: [
        (["--on-failure", "alert"], "`--on-failure` cannot be `alert`", "`alert.service`"),
        (["--randomized-delay", "5min"], "`--randomized-delay` must be a duration", "did you mean `5m`?"),
        (["--user", "a", "--dynamic-user"], "exclude each other", "keep one of them"),
    ])
    func wrongOptions_areRefused(_ words: [String], _ message: String, _ hint: String) throws {
        let refused = try binary().run(arguments: ["unit", "my jobs/nightly 1%.yaml"] + words)
        #expect(refused.exitStatus == 2 && refused.outputText.isEmpty)
        #expect(refused.errorText.contains(message) && refused.errorText.contains(hint), "\(refused.errorText)")
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
