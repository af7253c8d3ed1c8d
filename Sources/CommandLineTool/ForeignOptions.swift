import SystemIO

/// Options of other programs, and their equivalents here.
enum ForeignOptions {
    private static let hints: [String: String] = [
        "-j": concurrency, "--jobs": concurrency, "-P": concurrency, "--parallel": concurrency,
        "--parallel-max": concurrency, "--threads": concurrency, "--transfers": concurrency,
        "--max-concurrent-downloads": concurrency, "--concurrency": concurrency,
        "--limit-rate": bandwidth, "--bwlimit": bandwidth, "--max-download-limit": bandwidth,
        "-n": dryRun, "--dry-run": dryRun,
        "-k": insecure, "--insecure": insecure, "--no-check-certificate": insecure,
        "--retry": retry, "--retries": retry, "--tries": retry, "-t": retry, "--retry-max-time": retry,
        "-o": destination, "-O": destination, "--output-document": destination,
        "-H": headers, "--header": headers,
        "--connect-to": connectTo, "--resolve": connectTo,
        "-4": family, "--ipv4": family, "--inet4-only": family, "-6": family, "--ipv6": family, "--inet6-only": family,
        "--unix-socket": unixSocket,
    ]

    private static let concurrency = "use `--max-concurrent N`"
    private static let bandwidth = "use `--bandwidth RATE`, such as `--bandwidth 500kB/s`"
    private static let dryRun = "`transfer-run check JOB` looks at a job without running it"
    private static let insecure = "a session says that: `tls: { trust: { policy: insecure } }`"
    private static let retry =
        "a session or a task says that: `retry: { attempts: 5 }` or, by time, `retry: { for: 10m }`"
    private static let destination = "a task says that: `to: PATH`"
    private static let headers = "a session or a task says that: `headers: { Name: value }`"

    private static let connectTo = "a session says that: `connectTo: { \"example.org:443\": \"127.0.0.1:8443\" }`"
    private static let family = "a session says that: `addressFamily: ipv4`, or `ipv6`"
    private static let unixSocket = "a session says that: `unixSocket: PATH`"

    static func hint(for word: String) -> String? { hints[word] }

    /// Whether a word is a program whose command lines are translated.
    static func isProgram(_ word: String) -> Bool {
        ["curl", "wget", "aria2c"].contains(Folders.split(word).name)
    }

    /// What to write where a word is a command line of such a program, or its name.
    static func commandHint(for word: String, _ command: String) -> String? {
        guard let program = word.split(separator: " ").first.map({ String($0) }), isProgram(program) else { return nil }
        let quotes = word.contains(" ") ? ", without quotes around it all" : ""
        return "write `transfer-run \(command) -- \(program) …`\(quotes)"
    }
}
