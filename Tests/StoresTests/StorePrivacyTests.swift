import Stores
import TestSupport
import Testing

@Suite struct StorePrivacyTests {
    @Test func whatItMakesIsPrivate() throws {
        let tree = try TemporaryTree()
        let store = try Store.open(folder: tree.path("deep/state"))
        #expect(tree.mode("deep") == 0o700)
        #expect(tree.mode("deep/state") == 0o700)
        let files = tree.list("deep/state")
        #expect(files == ["store.lock", "store.sqlite", "store.sqlite-shm", "store.sqlite-wal"])
        for file in files { #expect(tree.mode("deep/state/\(file)") == 0o600, "\(file)") }
        _ = consume store
    }

    @Test(arguments: [0o777, 0o770, 0o720, 0o702] as [UInt32])
    func refusesAFolderThatOthersCanWrite(mode: UInt32) throws {
        let tree = try TemporaryTree()
        try tree.makeFolder("state")
        try tree.setMode("state", mode)
        let error = #expect(throws: StoreError.self) { try Store.open(folder: tree.path("state")) }
        #expect(error?.kind == .notPrivate)
        #expect(error?.description.contains(tree.path("state")) == true)
        #expect(tree.list("state").isEmpty)
    }

    @Test func refusesAFileThatOthersCanWriteOrThatIsNone() throws {
        let tree = try TemporaryTree()
        try tree.write("one/store.sqlite", "", mode: 0o620)
        try tree.makeFolder("two/store.sqlite")
        try tree.write("elsewhere", "", mode: 0o600)
        try tree.makeFolder("three")
        try tree.link("three/store.sqlite", to: tree.path("elsewhere"))
        for folder in ["one", "two", "three"] {
            let error = #expect(throws: StoreError.self) { try Store.open(folder: tree.path(folder)) }
            #expect(error?.kind == .notPrivate, "\(folder)")
        }
        #expect(try tree.text("elsewhere").isEmpty)
    }

    @Test func takesOthersRightToRead() throws {
        let tree = try TemporaryTree()
        try tree.write("store.sqlite", "", mode: 0o644)
        let store = try Store.open(folder: tree.path)
        #expect(tree.mode("store.sqlite") == 0o600)
        #expect(store.quarantined == nil)
    }

    @Test func refusesAFolderThatIsAFile() throws {
        let tree = try TemporaryTree()
        try tree.write("file", "")
        for folder in ["file", "file/below"] {
            #expect(throws: StoreError.self) { try Store.open(folder: tree.path(folder)) }
        }
    }
}

@Suite struct StateFolderTests {
    private func folder(_ directory: String? = nil, _ environment: [String: String]) throws -> [String] {
        let folder = try StateFolder(directory: directory, workingDirectory: "/here") { environment[$0] }
        return [folder.state, folder.cache, folder.runtime]
    }

    @Test func liesUnderTheFolderThatIsNamed() throws {
        #expect(try folder("/s/", ["HOME": "/h"]) == ["/s", "/s/cache", "/s/runtime"])
        #expect(try folder("s", [:]) == ["/here/s", "/here/s/cache", "/here/s/runtime"])
        #expect(try folder("/", [:]) == ["/", "/cache", "/runtime"])
        #expect(throws: StateFolder.Problem.self) { try folder("", ["HOME": "/h"]) }
    }

    @Test func followsTheEnvironment() throws {
        let all = ["XDG_STATE_HOME": "/xs", "XDG_CACHE_HOME": "/xc/", "XDG_RUNTIME_DIR": "/xr", "HOME": "/h"]
        #expect(try folder(nil, all) == ["/xs/transfer-run", "/xc/transfer-run", "/xr/transfer-run"])
        #expect(
            try folder(nil, ["HOME": "/h"]) == [
                "/h/.local/state/transfer-run", "/h/.cache/transfer-run", "/h/.local/state/transfer-run/runtime",
            ])
        // What is not absolute does not count, as the standard says.
        #expect(
            try folder(nil, ["HOME": "/h", "XDG_STATE_HOME": "x", "XDG_CACHE_HOME": "", "XDG_RUNTIME_DIR": "r"])
                == folder(nil, ["HOME": "/h"]))
    }

    @Test func saysWhatToSet() {
        for environment in [[:], ["HOME": ""], ["HOME": "relative"]] {
            let problem = #expect(throws: StateFolder.Problem.self) { try folder(nil, environment) }
            #expect(problem?.description.contains("--state-dir") == true)
        }
    }
}
