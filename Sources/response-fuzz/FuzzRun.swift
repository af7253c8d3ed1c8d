import TestSupport
import TextFormats
import TransferModel

/// One run of the program against a server whose answers come from one seed.
enum FuzzRun {
    struct Outcome {
        var answers = 0
        var published = 0
        /// `nil` when every property held.
        var problem: String?
    }
    static let tasks = 300

    static func check(seed: UInt64) throws -> Outcome {
        var random = Seeded(seed: seed)
        let answers = (0..<tasks).map { _ in Answer(&random) }
        let server = try ScriptedServer()
        defer { server.stop() }
        var job = "version: 1\ndefaults:\n  cachePolicy: reloadIgnoringCacheData\n  timeoutForRequest: 5s\n"
        job += "  retry: { attempts: 2, backoff: { initial: 1ms, maximum: 2ms } }\ntasks:\n"
        for (index, answer) in answers.enumerated() {
            server.on("/\(index)", answer.script)
            let kind = isDownload(index) ? "type: download, to: out/\(index)" : "type: data"
            job += "  - { id: t\(index), url: \"\(server.url("/\(index)"))\", \(kind) }\n"
        }
        let binary = try Binary()
        try binary.folder.write("job.yaml", job)
        try binary.folder.makeFolder("out")
        let poison = ["MALLOC_PERTURB_": "165", "MALLOC_CHECK_": "3"]
        let result = try binary.run("run", "-q", "job.yaml", environment: poison, timeout: .seconds(180))
        var outcome = Outcome(answers: server.requests().count)
        outcome.problem = try judge(result, answers, binary.folder, &outcome.published)
        return outcome
    }

    private static func isDownload(_ index: Int) -> Bool { index % 3 != 0 }

    private static func judge(
        _ result: Binary.Result, _ answers: [Answer], _ folder: TemporaryTree, _ published: inout Int
    ) throws -> String? {
        guard result.ending == .exit(0) || result.ending == .exit(1) else {
            return "the program ended with \(result.ending): \(result.errorText.prefix(300))"
        }
        guard let report = try? JSONParser.parse(try folder.bytes("job.report.json")) else {
            return "the report cannot be read"
        }
        guard case .array(let told)? = report["tasks"], told.count == answers.count else {
            return "the report has not every task"
        }
        for task in told {
            guard case .string(let id)? = task["id"], let index = Int(id.dropFirst()) else {
                return "the report has a task without its id"
            }
            let succeeded = task["outcome"] == .string("succeeded")
            if answers[index].fault == nil, !succeeded {
                return "\(id) has a good answer and failed: \(task["error"] ?? .null)"
            }
            guard isDownload(index) else { continue }
            let file = try? folder.bytes("out/\(index)")
            if succeeded, file == nil { return "\(id) succeeded without a file" }
            guard let file else { continue }
            published += 1
            if let permitted = answers[index].permitted, !permitted.contains(file) {
                let what = answers[index].fault ?? "good"
                return "\(id) (\(what)) published \(file.count) bytes of \(answers[index].body.count)"
            }
        }
        let known = Set(["job.yaml", "job.report.json", "out/"] + answers.indices.map { "out/\($0)" })
        let left = folder.list().filter { !known.contains($0) }
        return left.isEmpty ? nil : "files were left: \(left.prefix(5))"
    }
}
