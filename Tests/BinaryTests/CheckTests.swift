import TestSupport
import Testing
import TextFormats

/// `check` where the job's secrets are not, and what it says of what a job may do.
struct CheckTests {
    @Test(arguments: ["text", "json", "github"])
    func missingSecret_isAWarningInACheck_andRefusesARun(format: String) throws {
        let binary = try Binary()
        let header = "headers: { A: \"${secret.TOKEN}\", B: \"${env.NOT_SET_ANYWHERE}\" }"
        try binary.folder.write("job.yaml", "tasks: [{ id: a, url: \"https://127.0.0.1:1/\", \(header) }]")
        let check = try binary.run("check", "job.yaml", "--format", format)
        #expect(check.exitStatus == 0)
        switch format {
        case "json":
            let found = try JSONParser.parse(check.output)
            let severities = try JSONPath("$.diagnostics[*].severity").select(from: found).map(\.plainText)
            #expect(severities == ["warning", "warning"])
            #expect(try JSONPath("$.access[0].secrets[*].what").select(from: found).map(\.plainText) == ["TOKEN"])
            #expect(
                try JSONPath("$.access[0].hosts[*].what").select(from: found).map(\.plainText)
                    == ["https://127.0.0.1:1"])
        case "github":
            #expect(
                check.outputText.split(separator: "\n").allSatisfy { $0.hasPrefix("::warning file=job.yaml,line=1,") })
        default:
            #expect(check.errorText.ranges(of: "warning: ").count == 2 && check.outputText.isEmpty)
            #expect(check.errorText.contains("job.yaml may\n"), "\(check.errorText)")
            #expect(check.errorText.contains("  use 1 secret: TOKEN\n"))
            #expect(check.errorText.contains("  read 1 variable of the environment: NOT_SET_ANYWHERE\n"))
        }
        let run = try binary.run("job.yaml", "--no-report")
        #expect(run.exitStatus == 2 && run.errorText.ranges(of: "error: ").count >= 2, "\(run.errorText)")
    }

    @Test func missingSecret_refusesABackgroundSession_beforeAnythingIsHandedOver() throws {
        let binary = try Binary()
        try binary.folder.write(
            "job.yaml",
            """
            sessions: { b: { configuration: background, identifier: x.y } }
            tasks: [{ id: a, url: "https://127.0.0.1:1/", to: a, headers: { A: "${secret.TOKEN}" } }]
            """)
        #expect(try binary.run("check", "job.yaml").exitStatus == 0)
        let run = try binary.run("job.yaml", "--detach", "--state-dir", binary.folder.path("state"))
        #expect(run.exitStatus == 2 && run.errorText.contains("[missing-value]"), "\(run.errorText)")
        #expect(!binary.folder.exists("state"))
    }

    @Test func ordinaryJob_getsOneLine() throws {
        let binary = try Binary()
        try binary.folder.write("job.yaml", "tasks: [{ id: a, url: \"https://example.org/a\", to: a }]")
        let check = try binary.run("check", "job.yaml")
        let words = "job.yaml runs no command, keeps to its folder, uses no secret, and asks https://example.org"
        #expect(check.exitStatus == 0 && check.errorText == "\(words) (redirects may lead elsewhere)\n")
    }

    @Test func manyCommands_areFolded_andExplainedInFull() throws {
        let binary = try Binary()
        let commands = (1...15).map { "{ scheme: s\($0), command: [./c\($0), \"\\e[31m\"] }" }
        try binary.folder.write(
            "job.yaml",
            """
            sessions: { main: { protocols: [\(commands.joined(separator: ", "))] } }
            tasks: [{ id: a, url: "s1://x/y", to: ../a }]
            """)
        let folded = try binary.run("check", "job.yaml")
        #expect(folded.errorText.contains("  run 15 commands: ./c1 '\\u{1b}[31m', "), "\(folded.errorText)")
        #expect(folded.errorText.contains(", and 12 more\n"))
        #expect(folded.errorText.contains("  write 1 place outside its folder: "))
        let whole = try binary.run("check", "job.yaml", "--explain-access")
        #expect(whole.exitStatus == 0 && whole.errorText.isEmpty)
        for number in 1...15 {
            let line = "    ./c\(number) '\\u{1b}[31m'  (job.yaml:1: session `main`)\n"
            #expect(whole.outputText.contains(line), "\(whole.outputText)")
        }
        #expect(whole.outputText.contains("(job.yaml:2: task `a`)\n"))
    }

    @Test func jobWithErrors_isNotExplained() throws {
        let binary = try Binary()
        try binary.folder.write("job.yaml", "tasks: [{ id: a, url: \"https://example.org/a\", nope: 1 }]")
        let check = try binary.run("check", "job.yaml", "--explain-access")
        #expect(check.exitStatus == 2 && check.outputText.isEmpty)
    }
}
