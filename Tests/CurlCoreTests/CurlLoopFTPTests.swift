import CurlCore
import TestSupport
import Testing
import TransferModel

/// Files on an FTP server, whose end libcurl would wait for inside a turn.
@Suite struct CurlLoopFTPTests {
    private static let bytes = Script.patternBytes(300_000)
    /// A reply that never comes: later than any test waits.
    private static let never = 3_600_000

    private func server(_ server: FTPServer) throws -> FTPServer {
        try server.folder.write("file", Self.bytes)
        return server
    }

    private func ftp(_ request: inout CurlRequest) { request.ftp = FTPAccess() }

    @Test func file_comesWithItsFacts_overOneConnection() throws {
        let server = try server(FTPServer())
        let stage = try LoopStage()
        for number in 1...2 {
            let end = try stage.fetch(server.url("file"), with: ftp)
            #expect(end.code == .ok && end.recorded.body == Self.bytes && end.recorded.heads.isEmpty)
            let facts = try #require(end.recorded.files.first)
            #expect(facts.length == 300_000 && facts.modified != nil && facts.offset == 0 && !facts.refusesOffset)
            #expect(end.recorded.files.count == 1 && end.metrics.isReused == (number == 2))
        }
        #expect(server.commands.count { $0.hasPrefix("USER") } == 1)
    }

    @Test func fileFromAnOffset_comesFromThere() throws {
        let server = try server(FTPServer())
        var access = FTPAccess()
        access.offset = 250_000
        let end = try LoopStage().fetch(server.url("file")) { $0.ftp = access }
        #expect(end.code == .ok && end.recorded.body == Array(Self.bytes[250_000...]))
        #expect(end.recorded.files.map(\.offset) == [250_000] && end.recorded.files.map(\.length) == [50_000])
    }

    @Test func serverWithoutOffsets_hasAnswered() throws {
        let server = try server(FTPServer(without: ["REST"]))
        var access = FTPAccess()
        access.offset = 250_000
        let end = try LoopStage().fetch(server.url("file")) { $0.ftp = access }
        #expect(end.code == .ok && end.recorded.files.map(\.refusesOffset) == [true] && end.recorded.body.isEmpty)
    }

    @Test func fileWhoseEndIsNotConfirmed_awaitsTheServersWord() throws {
        let server = try server(FTPServer(late: Self.never))
        let stage = try LoopStage()
        let receiver = try stage.start(server.url("file"), with: ftp)
        stage.turn { stage.loop.awaitsWord(receiver.id) }
        try stage.passTime()
        // What may be the last piece comes with the server's word.
        #expect(receiver.completion == nil && receiver.body == Self.bytes.prefix(receiver.body.count).map { $0 })
        stage.loop.resume(receiver.id)
        #expect(stage.loop.awaitsWord(receiver.id) && receiver.body.count < Self.bytes.count)
        #expect(try stage.stop(receiver).isReused == false && !stage.loop.awaitsWord(receiver.id))
    }

    @Test func fileWhoseEndIsConfirmedLate_comesWhole() throws {
        let server = try server(FTPServer(late: 50))
        let end = try LoopStage().fetch(server.url("file"), with: ftp)
        #expect(end.code == .ok && end.recorded.body == Self.bytes)
    }

    @Test func uploadWhoseEndIsNotConfirmed_awaitsTheServersWord() throws {
        let server = try FTPServer(late: Self.never, isOpen: true)
        let stage = try LoopStage()
        let receiver = try stage.start(server.url("up"), upload: Self.bytes, with: ftp)
        stage.turn { stage.loop.awaitsWord(receiver.id) && (try? server.folder.bytes("up")) == Self.bytes }
        try stage.passTime()
        #expect(receiver.completion == nil && stage.loop.uploadedBytes(of: receiver.id) == 300_000)
        #expect(try stage.stop(receiver).uploadedBytes == 300_000)
    }

    @Test func upload_isStoredWhole() throws {
        let server = try FTPServer(late: 50, isOpen: true)
        let end = try LoopStage().fetch(server.url("up"), upload: Self.bytes, with: ftp)
        #expect(end.code == .ok && end.metrics.uploadedBytes == 300_000 && end.metrics.sent != nil)
        #expect(try server.folder.bytes("up") == Self.bytes)
    }

    @Test func fileThatIsNotThere_isRefusedForGood() throws {
        let server = try FTPServer()
        let stage = try LoopStage()
        let end = try stage.fetch(server.url("missing"), with: ftp)
        #expect(end.code != .ok && end.isRefused && !end.isPutOff && end.recorded.files.isEmpty)
        #expect(end.message.contains("the server said `550"), "\(end.message)")
        try server.folder.write("missing", "found")
        #expect(try stage.fetch(server.url("missing"), with: ftp).metrics.isReused)
    }

    @Test func fileThatIsBusy_isRefusedForNow() throws {
        let server = try server(FTPServer(busy: 1))
        let stage = try LoopStage()
        let end = try stage.fetch(server.url("file"), with: ftp)
        #expect(end.code != .ok && end.isRefused && end.isPutOff && end.error?.name == .badServerResponse)
        #expect(try stage.fetch(server.url("file"), with: ftp).code == .ok)
    }

    @Test func fileLongerThanAnnounced_isNoFile() throws {
        let server = try server(FTPServer(sizeOff: -1_000))
        let end = try LoopStage().fetch(server.url("file"), with: ftp)
        #expect(end.code == .partialFile && end.isLonger && end.recorded.files.map(\.length) == [299_000])
        #expect(end.message.contains("more than the 299000 bytes") && end.recorded.body.count <= 299_000)
    }

    @Test func fileThatBreaksOff_isPartial() throws {
        let server = try server(FTPServer(cutAfter: 100_000, cuts: 1))
        let stage = try LoopStage()
        let end = try stage.fetch(server.url("file"), with: ftp)
        #expect(end.code == .partialFile && !end.isLonger && end.recorded.body.count < Self.bytes.count)
        #expect(try stage.fetch(server.url("file"), with: ftp).code == .ok)
    }
}
