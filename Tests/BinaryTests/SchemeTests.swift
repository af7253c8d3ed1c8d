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

    /// Nothing is there that could do what they mean.
    @Test(arguments: ["DELETE", "PUT", "POST", "HEAD"]) func nothingButReadingIsThere(_ method: String) throws {
        let stage = try Stage()
        let source = try stage.folder.write("source", "kept")
        let run = try stage.run(
            """
            tasks:
              - { id: file, url: "file://\(source)", method: \(method) }
              - { id: data, url: "data:,text", method: \(method) }
            """)
        #expect(run.status == 1)
        #expect(try run.values("$.tasks[*].error.name") == ["unsupportedURL", "unsupportedURL"])
        #expect(run.errorText.contains("`\(method)` means nothing to a `file:` URL"))
        #expect(try stage.text("source") == "kept")
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

    /// Type and length are known before anything is read.
    @Test func rulesOnSources() throws {
        let stage = try Stage()
        let note = "file://\(try stage.folder.write("v.json", "{\"a\": 1}"))"
        let data = "data:application/json,%7B%7D"
        let cancel = "{ mimeType: application/json, do: cancel }"
        let run = try stage.run(
            """
            tasks:
              - { id: c1, url: "\(note)", onResponse: [\(cancel)] }
              - { id: c2, url: "\(note)", onResponse: [{ do: cancel }] }
              - { id: c3, url: "\(note)", onResponse: [{ largerThan: 5, do: cancel }] }
              - { id: c4, url: "\(note)", to: out/typed, onResponse: [\(cancel)] }
              - { id: c5, url: "\(data)", onResponse: [\(cancel)] }
              - { id: c6, url: "\(data)", to: out/typed2, maximumSize: 1, onResponse: [\(cancel)] }
              - { id: k1, url: "\(note)", onResponse: [{ status: 200, do: cancel }, { largerThan: 8, do: cancel }] }
              - { id: k2, url: "\(data)", onResponse: [{ mimeType: text/*, do: cancel }, { do: allow }, { do: cancel }] }
              - { id: d1, url: "\(note)", onResponse: [{ do: download, to: out/file }] }
              - { id: d2, url: "\(note)", onResponse: [{ do: download, to: out/folder/ }], expect: { size: 8 } }
              - { id: d3, url: "\(note)", to: out/typed3, onResponse: [{ do: download, to: out/ruled }] }
              - { id: d4, url: "\(data)", onResponse: [{ do: download, to: out/data }] }
              - { id: d5, url: "\(note)", onResponse: [{ do: download, to: out/missed }], expect: { size: 7 } }
              - { id: gone, url: "file://\(stage.folder.path)/nowhere", onResponse: [{ do: cancel }] }
            """)
        for id in ["c1", "c2", "c3", "c4", "c5", "c6"] {
            #expect(try run.task(id, "outcome") == "cancelled", "\(id)")
            #expect(try run.task(id, "error.message")?.contains("a rule of `onResponse`") == true)
            #expect(run.story(of: id).contains("response"))
        }
        #expect(try run.task("k1", "body.text") == "{\"a\": 1}" && run.task("k2", "body.text") == "{}")
        for id in ["d1", "d2", "d3", "d4"] {
            #expect(try run.task(id, "outcome") == "succeeded", "\(id)")
            #expect(try run.task(id, "source") == "local")
            #expect(try run.task(id, "becameDownload") == (id == "d3" ? "false" : "true"))
        }
        #expect(
            run.story(of: "d1").filter { ["response", "becameDownload", "fileFinished"].contains($0) }
                == ["response", "becameDownload", "fileFinished"])
        #expect(try run.task("d5", "error.name") == "unexpectedResponse")
        #expect(try run.task("gone", "error.name") == "fileDoesNotExist")
        #expect(stage.folder.list("out") == ["data", "file", "folder/", "folder/v.json", "ruled"])
        #expect(try stage.text("out/folder/v.json") == "{\"a\": 1}" && stage.text("out/data") == "{}")
    }

    /// The type that a name or a URL gives is the one header.
    @Test func theTypeIsAHeader() throws {
        let stage = try Stage()
        let note = "file://\(try stage.folder.write("v.json", "{}"))"
        let capture = "capture: { type: { header: content-type } }"
        let run = try stage.run(
            """
            tasks:
              - { id: file, url: "\(note)", \(capture), expect: { headers: { Content-Type: ^application/json$ } } }
              - { id: copy, url: "\(note)", to: copy, \(capture), expect: { headers: { Content-Type: json } } }
              - { id: data, url: "data:text/x;charset=utf-8,y", \(capture), expect: { headers: { Content-Type: utf } } }
              - { id: bare, url: "data:,y", \(capture) }
              - { id: other, url: "\(note)", capture: { length: { header: Content-Length } } }
              - { id: wrong, url: "\(note)", to: wrong, expect: { headers: { Content-Type: text } } }
            """)
        #expect(try run.task("file", "captures") == #"{"type":"application/json"}"#)
        #expect(try run.task("copy", "captures") == #"{"type":"application/json"}"#)
        #expect(try run.task("data", "captures") == #"{"type":"text/x; charset=utf-8"}"#)
        #expect(try run.task("bare", "captures") == #"{"type":"text/plain; charset=US-ASCII"}"#)
        #expect(try run.task("other", "error.name") == "captureNotFound")
        #expect(try run.task("wrong", "error.name") == "unexpectedResponse")
    }
}
