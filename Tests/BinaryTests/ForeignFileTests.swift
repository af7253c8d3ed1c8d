import Glibc
import SystemIO
import TestSupport
import Testing

/// What is kept of a file counts for that file alone: not for another of its size and time that came to stand there.
@Suite struct ForeignFileTests {
    private let server: ScriptedServer
    private let stage: Stage

    init() throws {
        server = try ScriptedServer()
        for name in ["a", "b"] {
            let text = String(repeating: name, count: 12)
            server.serve("/\(name)", ServedResource(text, etag: "\"\(name)\"", lastModified: RevalidationTests.past))
        }
        stage = try Stage()
        try stage.folder.makeFolder("p")
        try stage.folder.makeFolder("o")
        try stage.folder.link("al", to: "o")
    }

    private func download(_ name: String, to: String = "o/1") -> String {
        "tasks: [{ id: x, url: '\(server.url("/\(name)"))', to: \(to) }]"
    }

    /// Whichever way the other file came there.
    @Test(arguments: ["rule", "ephemeral", "dots", "link", "file", "moved"])
    func whatTheProgramPutThereIsNoticed(_ way: String) throws {
        defer { server.stop() }
        #expect(try stage.run(download("a")).status == 0)
        let url = server.url("/b")
        let other: String
        switch way {
        case "rule": other = "tasks: [{ id: x, url: '\(url)', onResponse: [{ do: download, to: o/1 }] }]"
        case "ephemeral": other = "sessions: { default: { configuration: ephemeral } }\n" + download("b")
        case "dots": other = download("b", to: "p/../o/1")
        case "link": other = download("b", to: "al/1")
        case "moved": other = download("b", to: "o/2")
        default:
            let time = try FileFacts.of(stage.folder.path("o/1")).modifiedNanoseconds
            let source = try stage.folder.write("source", String(repeating: "b", count: 12))
            try Descriptor.open(source, O_WRONLY).setModificationTime(nanoseconds: time)
            other = "tasks: [{ id: x, url: 'file://\(source)', to: o/1 }]"
        }
        #expect(try stage.run(other).status == 0)
        if way == "moved" {
            try #require(rename(stage.folder.path("o/2"), stage.folder.path("o/1")) == 0)
        }
        #expect(try stage.text("o/1").hasPrefix("bb"))
        let run = try stage.run(download("a"))
        #expect(try run.task("x", "source") == "network")
        #expect(try stage.text("o/1") == String(repeating: "a", count: 12))
    }

    /// A copy is read instead of fetched, once; a hard link and another mode cost nothing at all.
    @Test func aCopyCostsNoFetch() throws {
        defer { server.stop() }
        #expect(try stage.run(download("a")).status == 0)
        let path = stage.folder.path("o/1")
        try #require(link(path, stage.folder.path("o/second")) == 0 && chmod(path, 0o600) == 0)
        #expect(try stage.run(download("a")).task("x", "source") == "unchanged")
        #expect(try Binary(program: "/bin/cp").run("-a", path, stage.folder.path("o/copy")).exitStatus == 0)
        try #require(rename(stage.folder.path("o/copy"), path) == 0)
        for _ in 0..<2 { #expect(try stage.run(download("a")).task("x", "source") == "unchanged") }
    }
}
