import Testing
import TextFormats

@Suite struct RegexTests {
    @Test func findsGroupsAsRangesOfBytes() throws {
        let regex = try TextFormats.Regex("é(b)?(c)(d)?")
        let match = try #require(try regex.firstMatch(in: Array("aéc".utf8)))
        #expect(match == [1..<4, nil, 3..<4, nil])
        #expect(try regex.firstMatch(in: Array("ab".utf8)) == nil)
        #expect(try TextFormats.Regex("").firstMatch(in: []) == [0..<0])
        #expect(try TextFormats.Regex("a").firstMatch(in: []) == nil)
        #expect(try TextFormats.Regex("^..$").firstMatch(in: Array("é漢".utf8)) == [0..<5])
    }

    @Test func bytesThatAreNoTextDoNotMatchAndDoNotFail() throws {
        let regex = try TextFormats.Regex("b.")
        #expect(try regex.firstMatch(in: [0xFF, 0x62, 0xFE, 0x62, 0x63]) == [3..<5])
    }

    @Test func saysWhatIsWrongWithAPattern() {
        let problem = #expect(throws: TextFormats.Regex.Problem.self) { try TextFormats.Regex("a(b") }
        #expect(problem?.offset == 3)
        #expect(problem?.message == "missing closing parenthesis")
        #expect(throws: TextFormats.Regex.Problem.self) { try TextFormats.Regex("\\C") }
    }

    @Test func givesUpRatherThanHang() throws {
        let regex = try TextFormats.Regex("^(a+)+$")
        let text = [UInt8](repeating: 0x61, count: 40) + [0x62]
        let problem = #expect(throws: TextFormats.Regex.Problem.self) { try regex.firstMatch(in: text) }
        #expect(problem?.message == "match limit exceeded")
    }
}
