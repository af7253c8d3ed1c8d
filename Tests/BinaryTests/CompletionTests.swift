import TestSupport
import Testing

/// Completion in bash: what a key press offers.
@Suite struct CompletionTests {
    private func binary() throws -> Binary {
        let binary = try Binary()
        try binary.folder.write(
            "job.yaml",
            """
            tasks:
              - { id: alpha, url: "https://a.test/${env.NOT_SET}" }
              - { id: beta, url: "https://a.test/${secret.NOR_THIS}" }
            """)
        try binary.folder.write("broken.yaml", "tasks: {")
        try binary.folder.write("other.txt", "")
        try binary.folder.makeFolder("folder")
        return binary
    }

    /// The words that bash offers for the last word of a line.
    private func offered(_ line: [String], in binary: Binary) throws -> Set<String> {
        let script = """
            program=$0
            transfer-run() { "$program" "$@"; }
            source <(transfer-run completions bash) || exit 9
            COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
            _transfer_run
            printf '%s\\n' "${COMPREPLY[@]}"
            """
        let result = try binary.start(["transfer-run"] + line, under: ["/bin/bash", "-c", script]).wait()
        #expect(result.exitStatus == 0 && result.errorText.isEmpty, "\(line): \(result.errorText)")
        return Set(result.outputText.split(separator: "\n").map { String($0) })
    }

    @Test(arguments: [
        (["ru"], ["run"]), (["rer"], ["rerun"]), (["jo"], ["job.yaml"]),
        (["run", "--fail"], ["--failed-list", "--fail-fast"]),
        (["check", "--form"], ["--format"]), (["check", "--format", ""], ["text", "json", "github"]),
        (["check", "--format", "j"], ["json"]), (["--progress", "p"], ["plain"]),
        (["run", "job.yaml", "--only", ""], ["alpha", "beta"]), (["job.yaml", "--only", "al"], ["alpha"]),
        (["job.yaml", "--except", "b"], ["beta"]), (["broken.yaml", "--only", ""], []),
        (["none.yaml", "--only", ""], []),
        (["run", "--directory", "f"], ["folder"]), (["completions", ""], ["bash", "zsh", "fish"]),
        (["help", "expl"], ["explain"]), (["report", "me"], ["merge"]), (["attach", ""], []),
        (["check", "b"], ["broken.yaml"]),
        (["import", "oth"], ["other.txt"]), (["run", "--set", ""], []), (["run", "oth"], []),
    ])
    func aKeyPressOffers(_ line: [String], _ words: [String]) throws {
        #expect(try offered(line, in: binary()) == Set(words))
    }

    @Test func idsOfAReportAreOffered() throws {
        let binary = try Binary()
        try binary.folder.write("job.yaml", "tasks: [{ id: one, url: 'data:,x' }, { id: two, url: 'data:,y' }]")
        #expect(try binary.run("job.yaml").exitStatus == 0)
        #expect(try offered(["rerun", "job.report.json", "--task", ""], in: binary) == ["one", "two"])
        #expect(try offered(["explain", "job.report.json", "t"], in: binary) == ["two"])
    }

    @Test func theProgramIsQuietWhereItKnowsNothing() throws {
        let binary = try Binary()
        for words in [["tasks"], ["tasks", "no.yaml"], ["reported"], ["reported", "no.json"], ["sessions"]] {
            let result = try binary.run(arguments: ["completions"] + words)
            #expect(result.exitStatus == 0 && result.output.isEmpty && result.errorOutput.isEmpty, "\(words)")
        }
        #expect(binary.folder.list().isEmpty)
    }

    @Test(arguments: ["bash", "zsh", "fish"])
    func aShellThatIsInstalledTakesItsScript(_ shell: String) throws {
        let binary = try Binary()
        let script = "command -v \(shell) >/dev/null || exit 0; \"$0\" completions \(shell) > s && \(shell) -n s"
        let result = try binary.start([], under: ["/bin/sh", "-c", script]).wait()
        #expect(result.exitStatus == 0, "\(result.errorText)")
    }
}
