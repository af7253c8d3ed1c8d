import TestSupport
import Testing

/// `file:` and `data:` URLs, which no network answers.
@Suite struct SchemeTests {
    @Test func filesAreCopiedAndRead() throws {
        let stage = try Stage()
        let bytes = Script.patternBytes(700_001)
        let source = try stage.folder.write("some where/source.bin", bytes)
        let text = try stage.folder.write("note.txt", "a note\n")
        let run = try stage.run(
            """
            tasks:
              - { id: copy, url: "file://\(source)", to: copies/copy.bin }
              - { id: read, url: "file://\(text)" }
            """)
        #expect(run.status == 0)
        #expect(try stage.folder.bytes("copies/copy.bin") == bytes)
        #expect(try run.task("read", "body.text") == "a note\n")
        #expect(try run.values("$.tasks[*].source") == ["local", "local"])
    }

    @Test func aFileThatIsNotThereAndOneThatIsAFolder() throws {
        let stage = try Stage()
        try stage.folder.makeFolder("folder")
        try stage.folder.write("kept", "old")
        let run = try stage.run(
            """
            tasks:
              - { id: missing, url: "file://\(stage.folder.path)/nowhere", to: kept, existing: replace }
              - { id: folder, url: "file://\(stage.folder.path)/folder", to: copy }
            """)
        #expect(run.status == 1)
        #expect(try run.task("missing", "error.name") == "fileDoesNotExist")
        #expect(try run.task("folder", "error.name") == "fileIsDirectory")
        #expect(stage.files == ["folder/", "kept"])
        #expect(try stage.text("kept") == "old")
    }

    @Test func dataURLs() throws {
        let stage = try Stage()
        let run = try stage.run(
            """
            tasks:
              - { id: text, url: "data:text/plain;charset=utf-8,gr%C3%BC%C3%9Fe" }
              - { id: bytes, url: "data:application/octet-stream;base64,AAEC/f7/", to: bytes }
              - { id: empty, url: "data:,", to: empty }
            """)
        #expect(run.status == 0)
        #expect(try run.task("text", "body.text") == "grüße")
        #expect(try run.task("text", "response.mimeType") == "text/plain")
        #expect(try stage.folder.bytes("bytes") == [0, 1, 2, 0xFD, 0xFE, 0xFF])
        #expect(try stage.text("empty") == "")
    }

    @Test func checksumsCountForEachScheme() throws {
        let stage = try Stage()
        let source = try stage.folder.write("source", "abc")
        let right = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        let wrong = "sha256:aa7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        let run = try stage.run(
            """
            tasks:
              - { id: file, url: "file://\(source)", to: a, checksum: "\(right)" }
              - { id: data, url: "data:,abc", to: b, checksum: "\(right)" }
              - { id: wrong-file, url: "file://\(source)", to: c, checksum: "\(wrong)" }
              - { id: wrong-data, url: "data:,abc", to: d, checksum: "\(wrong)" }
            """)
        #expect(run.status == 1)
        #expect(stage.files == ["a", "b", "source"])
        for id in ["wrong-file", "wrong-data"] { #expect(try run.task(id, "error.name") == "checksumMismatch") }
    }
}
