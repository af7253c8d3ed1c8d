import Digests
import TestSupport
import Testing
import TextFormats
import TransferModel

/// `examples/apt-mirror/apt-mirror.transfer.yaml` against a repository of many packages, over several runs.
@Suite struct AptMirrorTests {
    /// A repository as its server has it.
    private struct Repository {
        static let suite = "dists/stable"
        /// The packages by their path: contents that tell of name and version.
        var packages: [String: [UInt8]] = [:]

        init(_ count: Int) {
            for number in 0..<count { set(number, version: 1) }
        }

        static func path(_ number: Int) -> String {
            let component = number % 10 == 0 ? "contrib" : "main"
            return "pool/\(component)/p/pack\(number)/pack\(number).deb"
        }

        mutating func set(_ number: Int, version: Int) {
            let text = "pack\(number) version \(version)\n"
            packages[Self.path(number)] = Array(String(repeating: text, count: 1 + number % 40).utf8)
        }

        mutating func remove(_ number: Int) { packages[Self.path(number)] = nil }

        private func sum(_ bytes: [UInt8]) throws -> String {
            String(try Checksum.of(bytes, .sha256).description.dropFirst("sha256:".count))
        }

        /// Every file of the repository, indexes and `Release` included.
        func files() throws -> [String: [UInt8]] {
            var files = packages
            var release = "Suite: stable\nSHA256:\n"
            for component in ["main", "contrib"] {
                var index = ""
                for (path, bytes) in packages.sorted(by: { $0.key < $1.key }) where path.hasPrefix("pool/\(component)/")
                {
                    let name = path.split(separator: "/").last?.dropLast(4) ?? ""
                    index += """
                        Package: \(name)
                        Version: 1
                        Filename: \(path)
                        Size: \(bytes.count)
                        SHA256: \(try sum(bytes))
                        Description: a package
                         of many lines


                        """
                }
                let packed = Encoder.xz(Array(index.utf8))
                let place = "\(component)/binary-amd64/Packages.xz"
                files["\(Self.suite)/\(place)"] = packed
                release += " \(try sum(packed)) \(packed.count) \(place)\n"
            }
            files["\(Self.suite)/Release"] = Array(release.utf8)
            return files
        }
    }

    private static let count = Rounds.scaled(1) > 1 ? 3_000 : 1_000

    /// Serves the repository; `held` is the path of a file that waits for the gate `held`.
    private func serve(_ repository: Repository, at server: ScriptedServer, held: String? = nil) throws {
        for (path, bytes) in try repository.files() {
            let resource = ServedResource(bytes, etag: "\"\(try Checksum.of(bytes, .sha256).description.suffix(16))\"")
            if path == held {
                server.on("/\(path)") { request in [.gate("held")] + resource.answer(request) }
            } else {
                server.serve("/\(path)", resource)
            }
        }
    }

    private func mirror(_ binary: Binary) throws -> [String: [UInt8]] {
        try binary.folder.contents("mirror").filter { !$0.key.hasSuffix("/") }
    }

    private func start(_ binary: Binary, _ server: ScriptedServer) throws -> RunningProgram {
        try binary.start(["run", "apt-mirror.yaml", "--set", "site=\(server.origin)", "--report", "r.json"])
    }

    private func value(_ path: String, _ binary: Binary) throws -> String? {
        let report = try JSONParser.parse(binary.folder.bytes("r.json"))
        return try JSONPath(path).select(from: report).first?.plainText
    }

    /// The targets that were asked for since the server had so many requests.
    private func asked(_ server: ScriptedServer, since count: Int) -> [String] {
        server.requests().dropFirst(count).map(\.target)
    }

    private static let release = "/\(Repository.suite)/Release"
    private static let indexes = ["main", "contrib"].map { "/\(Repository.suite)/\($0)/binary-amd64/Packages.xz" }

    @Test func aRepositoryIsMirrored_andKeptUpToDate() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let binary = try Binary()
        try binary.folder.write(
            "apt-mirror.yaml",
            TemporaryTree.bytes(at: "\(Binary.packageRoot)/examples/apt-mirror/apt-mirror.transfer.yaml"))
        var repository = Repository(Self.count)
        try serve(repository, at: server)
        let first = try start(binary, server).wait()
        #expect(first.exitStatus == 0, "\(first.errorText.suffix(2_000))")
        #expect(try value("$.totals.succeeded", binary) == "\(Self.count + 3)")
        let old = try repository.files()
        #expect(try mirror(binary) == old)

        // Nothing new: nothing but Release is asked for.
        var before = server.requests().count
        let idle = try start(binary, server).wait()
        #expect(idle.exitStatus == 0, "\(idle.errorText.suffix(2_000))")
        #expect(asked(server, since: before) == [Self.release])
        #expect(try mirror(binary) == old)

        // Some are changed, some are gone, some are new.
        let changed = [7, 10, 501, Self.count - 1]
        let gone = [3, 20, 734]
        let new = [Self.count, Self.count + 1]
        for number in changed + new { repository.set(number, version: 2) }
        for number in gone { repository.remove(number) }
        try serve(repository, at: server, held: Repository.path(501))
        for number in gone { server.on("/\(Repository.path(number))", .respond(404)) }
        before = server.requests().count
        let program = try start(binary, server)
        let moved = Set((changed + new).map { "/\(Repository.path($0))" })
        // All but the last file came, and the mirror is still the old one.
        #expect(happens { server.requests().count - before == moved.count + 3 })
        #expect(try mirror(binary) == old)
        server.open(gate: "held")
        let third = program.wait()
        #expect(third.exitStatus == 0, "\(third.errorText.suffix(2_000))")
        #expect(Set(asked(server, since: before)) == moved.union(Self.indexes).union([Self.release]))
        #expect(try mirror(binary) == repository.files())

        // An index that does not have its checksum changes nothing.
        let whole = try mirror(binary)
        repository.remove(5)
        try serve(repository, at: server)
        server.serve(Self.indexes[0], ServedResource(Array("cut".utf8)))
        let broken = try start(binary, server).wait()
        #expect(broken.exitStatus == 1)
        #expect(try value("$.groups[0].published", binary) == "false")
        #expect(try mirror(binary) == whole)
    }
}
