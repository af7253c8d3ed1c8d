// Measures stages of a run; see docs/performance.md.
import Glibc
import JobRunner
import Reporting
import SystemIO
import TransferModel

/// Temporary driver: pairs of url and path.
func pairs(_ path: String) -> [(String, String)] {
    guard let f = fopen(path, "r") else { return [] }
    defer { fclose(f) }
    var result: [(String, String)] = []
    var buffer = [CChar](repeating: 0, count: 4096)
    while fgets(&buffer, 4096, f) != nil {
        let line = String(decoding: buffer.prefix { $0 != 0 && $0 != 10 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let parts = line.split(separator: "\t")
        if parts.count == 2 { result.append((String(parts[0]), String(parts[1]))) }
    }
    return result
}

func bench() throws {
    let list = pairs(CommandLine.arguments[1])
    let conc = Int(CommandLine.arguments[2]) ?? 32
    var job = Job(name: "bench", file: "bench.yaml", baseDirectory: "/tmp")
    var session = SessionConfiguration(name: "default")
    session.maximumConnectionsPerHost = conc
    session.http.version = .http1
    if CommandLine.arguments.count > 4 { session.tls.ca = CommandLine.arguments[4]; session.http.version = CommandLine.arguments[5] == "2" ? .http2 : .http1 }
    job.sessions = [session]
    job.limits.maximumConcurrentTasks = conc
    let options = TaskOptions(.init(policies: TransferPolicies()))
    for (index, pair) in list.enumerated() {
        job.tasks.append(
            TaskSpecification(
                id: "t\(index)", type: .download, session: SessionIndex(raw: 0),
                location: .url(try ResourceURL.parse(pair.0)), destination: pair.1, line: 1, options: options))
    }
    let t0 = Clocks.instant()
    let report = JSONReport(job: job, runner: RunnerFacts(version: "0", libcurl: "x", pid: 1, host: "h"))
    let log = try EventLog(consumers: [report], redactor: nil, now: Clocks.now())
    let run = try JobRun(job: job, settings: RunSettings(userAgent: "transfer-run/0", seed: 1), log: log) { Mailbox(wake: $0) }
    let status = run.run()
    let cpu = Clocks.threadTime()
    let t1 = Clocks.instant()
    let failure = log.finish()
    let t2 = Clocks.instant()
    try report.write(to: CommandLine.arguments[3])
    let t3 = Clocks.instant()
    print("status", status, failure as Any, "run", (t1 - t0).seconds, "log", (t2 - t1).seconds, "write", (t3 - t2).seconds, "loop cpu", cpu.seconds, "process cpu", Clocks.processTime().seconds)
}
try bench()
