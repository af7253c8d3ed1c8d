import Diagnostics
import Glibc
import JobLoader
import Testing
import TransferModel
import YAMLTree

/// Prints what loading costs; asserts only what a loaded machine holds in a debug build, too.
struct SpeedTests {
    private static func job(_ count: Int) -> [UInt8] {
        var text = """
            version: 1
            name: bench
            limits: { maximumConcurrentTasks: 32 }
            sessions:
              bench:
                configuration: default
                maximumConnectionsPerHost: 32
                http: { version: "1.1" }
            tasks:

            """
        for number in 0..<count {
            text += "  - { id: t\(number), session: bench, url: \"http://127.0.0.1:8080/a/file\(number).bin\", "
            text += "type: download, to: \"/tmp/out/a/file\(number).bin\" }\n"
        }
        return Array(text.utf8)
    }

    private static func seconds(_ body: () -> Void) -> Double {
        let start = ContinuousClock.now
        body()
        let span = ContinuousClock.now - start
        return Double(span.components.seconds) + Double(span.components.attoseconds) / 1e18
    }

    @Test func plainTasksCostMicroseconds() {
        let count = getenv("TRANSFER_RUN_LONG") == nil ? 10_000 : 100_000
        let source = SourceText(name: "/job/jobs.yaml", bytes: Self.job(count))
        var tree: YAMLTree?
        let parsing =
            (0..<3).map { _ in
                Self.seconds {
                    var problems = DiagnosticList()
                    tree = YAMLTree.parse(source, into: &problems)
                }
            }.min() ?? 0
        #expect(tree != nil)
        var result: LoadResult?
        let whole =
            (0..<5).map { _ in
                Self.seconds { result = JobLoader.load(source, options: LoadOptions(), resources: .nothing()) }
            }.min() ?? 0
        #expect(result?.job?.tasks.count == count)
        let each = (whole - parsing) / Double(count) * 1e6
        print("load \(count): whole \(whole * 1000) ms, YAML \(parsing * 1000) ms, tree to job \(each) us a task")
        #expect(whole < 30)
    }

    @Test func forEachMakesManyTasks() {
        let count = getenv("TRANSFER_RUN_LONG") == nil ? 20_000 : 1_000_000
        let text = """
            tasks:
              - id: t${n}
                forEach: { n: 1..\(count) }
                url: https://example.org/${n}/file
                to: out/${n}.bin
                retry: { attempts: 5 }
                priority: high
            """
        var result: LoadResult?
        let whole = Self.seconds { result = load(text) }
        #expect(result?.job?.tasks.count == count)
        print("forEach \(count): \(whole * 1000) ms, \(whole / Double(count) * 1e6) us a task")
        #expect(result?.job?.tasks.last?.destination == "/job/out/\(count).bin")
    }
}
