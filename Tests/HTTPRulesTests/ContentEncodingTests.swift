import HTTPRules
import Testing
import TransferModel

@Suite struct ContentEncodingTests {
    private func codings(_ values: String...) throws(TransferError) -> [ContentCoding] {
        try ContentEncoding.codings(HeaderBlock(values.map { ("content-ENCODING", $0) }))
    }

    private func failure(_ values: String...) -> TransferError? {
        do throws(TransferError) {
            _ = try ContentEncoding.codings(HeaderBlock(values.map { ("Content-Encoding", $0) }))
            return nil
        } catch {
            return error
        }
    }

    @Test func namesInTheOrderApplied() throws {
        #expect(try codings() == [])
        #expect(try codings("gzip") == [.gzip])
        #expect(try codings("X-GZip") == [.gzip])
        #expect(try codings(" br ,\tzstd,, deflate") == [.br, .zstd, .deflate])
        #expect(try codings("gzip", "br") == [.gzip, .br])
        #expect(try codings("identity") == [])
        #expect(try codings("") == [])
        #expect(try codings("identity, gzip,identity") == [.gzip])
    }

    @Test func unknownOnesAreErrors() {
        for text in ["compress", "gzip, x-compress", "gzipp", "gzip;q=1", "aes128gcm", "dcb"] {
            #expect(failure(text)?.name == .cannotDecodeContentData, "\(text)")
        }
        #expect(failure("snappy")?.message.contains("`Content-Encoding` of `snappy`;") == true)
        #expect(
            failure(String(repeating: "x", count: 9_000)).map { ForeignText.told($0.message) { $0 }.utf8.count < 200 }
                == true)
    }

    @Test func atMostFour() throws {
        #expect(try codings("br, gzip, zstd, gzip").count == 4)
        #expect(try codings("br, gzip, identity, zstd, gzip").count == 4)
        #expect(failure("br, gzip, zstd", "gzip, br")?.name == .cannotDecodeContentData)
    }

    @Test func whatCameInOneLine() {
        #expect(ContentEncoding.text(HeaderBlock([])) == nil)
        #expect(ContentEncoding.text(HeaderBlock([("Content-Encoding", "X-Odd")])) == "X-Odd")
        let two = HeaderBlock([("Content-Encoding", "gzip"), ("A", "b"), ("content-encoding", "br, zstd")])
        #expect(ContentEncoding.text(two) == "gzip, br, zstd")
    }
}
