import Glibc
import SystemIO
import TestSupport
import Testing

/// What libcurl calls of other libraries is looked for when it is first called: a wrong name would end a run in the middle.
@Suite struct LibcurlNeedsTests {
    @Test func eachFunctionIsInTheLibraryUnderWhichItStands() throws {
        func read(_ name: String) throws -> String {
            let path = Binary.packageRoot + "/Sources/CLibcurl/\(name)"
            return String(decoding: try WholeFile.read(path, limit: 1 << 20), as: UTF8.self)
        }
        let (text, asked) = (try read("needs.S"), try read("needs.c"))
        var library: (name: String, handle: UnsafeMutableRawPointer)?
        var (libraries, functions) = (0, 0)
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ").map(String.init)
            guard words.count == 2 else { continue }
            if words[0] == "LIBRARY" {
                let handle = try #require(dlopen(words[1], RTLD_LAZY | RTLD_LOCAL), "\(words[1]) cannot be loaded")
                library = (words[1], handle)
                #expect(asked.contains("\"\(words[1])\","), "whether \(words[1]) can be loaded is never asked")
                libraries += 1
            } else if words[0] == "LATE" {
                let (name, handle) = try #require(library)
                #expect(dlsym(handle, words[1]) != nil, "\(name) has no \(words[1])")
                functions += 1
            }
        }
        #expect(libraries == 12 && functions > 300)
    }
}
