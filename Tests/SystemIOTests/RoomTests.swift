import Glibc
import TestSupport
import Testing

/// What holds a process in its room: each means alone, with the others left out, so that none hides that another does not
/// hold. The process is `room-check`.
@Suite struct RoomTests {
    private static let program = "\(Binary.packageRoot)/.build/debug/room-check"
    private static let pathsAlone = ["--without", "landlock", "--without", "seccomp"]
    private static let filesAlone = ["--without", "openat2", "--without", "seccomp"]
    private static let callsAlone = ["--without", "openat2", "--without", "landlock"]

    /// Returns what became of each door, by its line.
    private func attempt(_ tree: TemporaryTree, _ words: [String]) throws -> [String: String] {
        let result = try Binary(program: Self.program).run(arguments: [tree.path("room")] + words)
        try #require(result.exitStatus == 0, "\(result.outputText)\(result.errorText)")
        var found: [String: String] = [:]
        for line in result.outputText.split(separator: "\n") {
            let parts = line.split(separator: ": ", maxSplits: 1)
            found[String(parts[0])] = parts.count > 1 ? String(parts[1]) : ""
        }
        return found
    }

    /// A room with files and links, and a file outside.
    private func tree() throws -> TemporaryTree {
        let tree = try TemporaryTree("room")
        try tree.write("outside/secret", "secret")
        try tree.write("room/in/file", "own")
        try tree.link("room/out", to: "../outside/secret")
        try tree.link("room/there", to: "../outside")
        try tree.link("room/absolute", to: tree.path("room/in"))
        try tree.link("room/within", to: "in")
        return tree
    }

    private static let leadsOut = "leads out of the folder that this run is confined to"

    @Test func pathsLeadNowhereElse_evenWhereTheKernelHoldsNothing() throws {
        let tree = try tree()
        let refused = [
            "open room/out", "open room/there/secret", "open room/../outside/secret", "open outside/secret",
            "open room/in/../../outside/secret", "open room/absolute/file", "write room/there/new", "write outside/new",
            "make room/there/deep", "make outside/deep", "make room/in/../../outside/deep", "list room/there",
            "list outside", "open /etc/shadow", "write /etc/new-of-room-check", "source room/out",
            // The process reads these for itself, and a job that got their names from a server must not.
            "source /etc/hosts", "source /proc/self/environ",
        ]
        let open = [
            "open room/in/file", "source room/in/file", "open room/within/file", "open room/in/../in/file",
            "write room/new", "make room/a/b",
            "list room", "list room/within", "open /etc/hosts", "write /dev/null",
            // The seam: what a library opens is the kernel's to hold.
            "read outside/secret",
        ]
        let words = (refused + open).flatMap { door -> [String] in
            let parts = door.split(separator: " ").map { String($0) }
            return [parts[0], parts[1].hasPrefix("/") ? parts[1] : tree.path(parts[1])]
        }
        let found = try attempt(tree, Self.pathsAlone + words)
        for (number, door) in refused.enumerated() {
            let line = found["\(words[number * 2]) \(words[number * 2 + 1])"]
            #expect(line?.contains(Self.leadsOut) == true, "\(door): \(line ?? "nothing")")
        }
        for number in refused.count..<(refused.count + open.count) {
            let line = found["\(words[number * 2]) \(words[number * 2 + 1])"]
            #expect(line == "open", "\(words[number * 2 + 1]): \(line ?? "nothing")")
        }
        #expect(!tree.exists("outside/new") && !tree.exists("outside/deep"))
    }

    @Test func kernelHoldsFiles_evenWhereThisProgramOpensAnyPath() throws {
        let tree = try tree()
        let (file, link, own) = (tree.path("outside/secret"), tree.path("room/out"), tree.path("room/in/file"))
        let new = tree.path("outside/new")
        let found = try attempt(
            tree,
            Self.filesAlone + [
                "read", file, "read", link, "open", link, "create", new, "create", tree.path("room/there/new"), "cut",
                file, "run", "/bin/true", "read", own, "create", tree.path("room/new"), "read", "/etc/hosts", "write",
                "/dev/null",
            ])
        for door in ["read \(file)", "read \(link)", "open \(link)", "create \(new)", "cut \(file)", "run /bin/true"] {
            #expect(found[door] == "Permission denied", "\(door): \(found)")
        }
        for door in ["read \(own)", "create \(tree.path("room/new"))", "read /etc/hosts", "write /dev/null"] {
            #expect(found[door] == "open", "\(door): \(found)")
        }
        #expect(!tree.exists("outside/new"))
        // With that left out, too, all is open: it is this means that holds.
        let free = try attempt(tree, Self.filesAlone + ["--without", "landlock", "read", file, "create", new])
        #expect(free == ["read \(file)": "open", "create \(new)": "open"])
    }

    @Test func noProgramIsStarted_andNoOtherProcessReached() throws {
        let tree = try tree()
        let file = tree.path("outside/secret")
        let other = "\(getpid())"
        let doors = ["run", "/bin/true", "socket", "17", "signal", other, "cut", file, "socket", "2", "socket", "16"]
        let held = try attempt(tree, Self.callsAlone + doors)
        #expect(held["run /bin/true"] == "Operation not permitted", "\(held)")
        #expect(held["socket 17"] == "Address family not supported by protocol", "\(held)")
        #expect(
            held["signal \(other)"] == "Operation not permitted" && held["cut \(file)"] == "Operation not permitted")
        #expect(held["socket 2"] == "open" && held["socket 1"] == nil)
        let free = try attempt(tree, Self.callsAlone + ["--without", "seccomp", "run", "/bin/true", "signal", other])
        #expect(free == ["run /bin/true": "open", "signal \(other)": "open"])
    }

    @Test func localSockets_areRefusedOnceTheDoorIsShut() throws {
        let tree = try tree()
        #expect(try attempt(tree, ["socket", "1"]) == ["socket 1": "open"])
        let shut = try attempt(tree, ["local", "socket", "1", "socket", "2"])
        #expect(shut == ["socket 1": "Permission denied", "socket 2": "open"])
    }

    @Test func connections_goToTheGivenPortsAlone() throws {
        let tree = try tree()
        let server = try ScriptedServer()
        defer { server.stop() }
        let port = "\(server.port)"
        #expect(try attempt(tree, ["--port", port, "connect", port]) == ["connect \(port)": "open"])
        // Rules about ports would by themselves let no file change its folder.
        let file = tree.path("room/in/file")
        #expect(try attempt(tree, ["--port", port, "move", file]) == ["move \(file)": "open"])
        #expect(try attempt(tree, ["--port", "443", "connect", port]) == ["connect \(port)": "Permission denied"])
    }
}
