import TestSupport
import Testing
import TextFormats
import TransferModel

@Suite struct JSONWriterTests {
    private func written(_ body: (inout JSONWriter) -> Void) -> String {
        var writer = JSONWriter()
        body(&writer)
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    @Test func putsCommasWhereTheyBelong() {
        let text = written { writer in
            writer.beginObject()
            writer.key("a")
            writer.beginArray()
            writer.integer(1)
            writer.beginObject()
            writer.endObject()
            writer.beginArray()
            writer.endArray()
            writer.null()
            writer.endArray()
            writer.member("b", true)
            writer.member("c", nil as String?)
            writer.key("d\n" as String)
            writer.raw(Array("{}".utf8))
            writer.member("e", 2.5)
            writer.endObject()
        }
        #expect(text == #"{"a":[1,{},[],null],"b":true,"c":null,"d\n":{},"e":2.5}"#)
    }

    @Test func writesObjectsAndArraysWithTheirNames() {
        let text = written { writer in
            writer.beginObject()
            writer.object("a") { $0.member("b", 1) }
            writer.object("c", 2) { $0.member("d", $1) }
            writer.object("e", nil as Int?) { $0.member("f", $1) }
            writer.array("g", [3, 4]) { $0.integer($1) }
            writer.objects("h", [5, 6]) { $0.member("i", $1) }
            writer.objects("j", [Int]()) { $0.member("k", $1) }
            writer.member("l", texts: ["m", "\""])
            writer.endObject()
        }
        #expect(
            text
                == #"{"a":{"b":1},"c":{"d":2},"e":null,"g":[3,4],"h":[{"i":5},{"i":6}],"j":[],"l":["m","\""]}"#)
    }

    @Test(arguments: [
        ("", ""), ("plain text that is longer than a word", "plain text that is longer than a word"),
        ("a\"b\\c/d", #"a\"b\\c/d"#), ("\u{8}\t\n\u{C}\r\u{0}\u{1F}", #"\b\t\n\f\r\u0000\u001f"#),
        ("12345678\u{1}", #"12345678\u0001"#), ("ünï漢🎉\u{7F}", "ünï漢🎉\u{7F}"),
    ])
    func escapesStrings(_ text: String, to json: String) {
        #expect(written { $0.string(text) } == "\"\(json)\"")
    }

    @Test func writesNumbers() {
        let numbers: [Int64] = [0, 9, 10, -1, 1_234_567_890, .max, .min]
        for number in numbers { #expect(written { $0.integer(number) } == "\(number)") }
        #expect(written { $0.unsigned(.max) } == "\(UInt64.max)")
        let doubles: [(Double, String)] = [
            (0, "0"), (1, "1"), (0.1, "0.1"), (1e21, "1e+21"), (.leastNonzeroMagnitude, "5e-324"), (.infinity, "null"),
            (.nan, "null"),
            (-2.5, "-2.5"),
        ]
        for (double, text) in doubles { #expect(written { $0.number(double) } == text) }
    }

    @Test(arguments: [
        (0, "0"), (200_000_000, "0.2"), (12_345_000_000, "12.345"), (1_000, "0.000001"), (499, "0"), (500, "0.000001"),
        (999_999_999, "1"), (-1_500_000_000, "-1.5"), (-400, "0"), (3_600_000_000_000, "3600"),
    ])
    func writesSeconds(_ nanoseconds: Int64, as text: String) {
        #expect(written { $0.seconds(TimeSpan(nanoseconds: nanoseconds)) } == text)
    }

    /// Against `String`, which repairs broken UTF-8 the same way, and the parser.
    @Test func whateverTheBytesAreTheStringReadsBack() throws {
        var random = Seeded("JSONWriterTests")
        let pieces: [[UInt8]] = [
            [0x41], [0x22], [0x5C], [0x00], [0x1F], [0x7F], [0x80], [0xC2], [0xC2, 0xA9], [0xE2, 0x82],
            [0xE2, 0x82, 0xAC],
            [0xED, 0xA0, 0x80], [0xF0, 0x9F], [0xF0, 0x9F, 0x8E, 0x89], [0xF4, 0x90, 0x80, 0x80], [0xC0, 0xAF], [0xFF],
            Array("abcdefgh".utf8),
        ]
        for _ in 0..<Rounds.scaled(3000) {
            let bytes = (0..<Int.random(in: 0...12, using: &random)).flatMap { _ in
                pieces.randomElement(using: &random)!
            }
            var writer = JSONWriter()
            bytes.withUnsafeBufferPointer { writer.string(utf8: $0) }
            let value = try JSONParser.parse(writer.bytes)
            #expect(value == .string(String(decoding: bytes, as: UTF8.self)), "\(bytes), seed \(random.seed)")
        }
    }
}
