/// Names what of a script is not translated.
extension ScriptImport {
    /// Names the transfers of command substitutions.
    func tellOfHidden(_ command: ShellCommand, _ job: inout ImportedJob) {
        for hidden in command.hidden {
            let place = ImportPlace(file: file, line: hidden.line)
            let hint =
                hidden.variable.map {
                    ": `capture` of a task takes a value out of an answer, here `\($0.prefix(40))`, as `jq -r .a.b`, `grep -o` "
                        + "and `sed -n 's/.*\\(…\\).*/\\1/p'` do"
                }
            job.lose(place, "the \(hidden.program) in a command substitution was left out\(hint ?? "")")
        }
    }

    /// Names the file that a command writes which is left out without another word.
    func tellOfWriting(
        _ command: ShellCommand, _ program: String, _ place: ImportPlace, _ job: inout ImportedJob
    ) {
        for redirection in command.redirections where redirection.sign.contains(">") && !redirection.word.isNoFile {
            let file = redirection.word.unknown ?? redirection.word.text
            job.lose(place, "the file `\(file.prefix(40))` that `\(program)` writes is not written by the job")
        }
    }

    /// Names a command that is not translated, or the pipe into it.
    func tellOf(_ program: String, _ previous: ShellCommand?, _ place: ImportPlace, _ job: inout ImportedJob) {
        let shown = program.prefix { $0 != "=" }.prefix(40)
        if program == "cd" {
            return job.lose(place, "`cd` is not translated: give the job's folder with `--directory`")
        }
        let hint = Self.hints[program].map { ": \($0)" } ?? ""
        guard previous?.end == "|" else {
            return job.lose(place, "`\(shown)` is not translated\(hint)")
        }
        switch list.pipe {
        case .lost: return
        case .alone:
            job.lose(place, "the pipe into `\(shown)` is not translated: write `transfer-run JOB | \(shown) …`")
        case .shown:
            job.lose(place, "the pipe into `\(shown)` is not translated: the job prints the whole answer")
        case nil: job.lose(place, "the pipe into `\(shown)` is not translated\(hint)")
        }
    }

    /// What says in a job what a command does.
    private static let hints: [String: String] = {
        let verify = "the job does not verify the file, as `checksum` of a task does"
        let unpack = "`onFinish` of a task runs a command on its file"
        let sums = ["md5sum", "sha1sum", "sha224sum", "sha256sum", "sha384sum", "sha512sum", "shasum", "b2sum"]
        let hints = [
            "chmod": "the job does not set the mode, as `mode` of a task does", "tar": unpack, "unzip": unpack,
            "gunzip": unpack, "gpg": "`signature` of a `checksum` verifies a list of checksums",
            "trap": "`onFinish` of the job runs a command at its end",
            "umask": "`mode` of a task is that of its file",
        ]
        return hints.merging(sums.map { ($0, verify) }) { first, _ in first }
    }()
}
